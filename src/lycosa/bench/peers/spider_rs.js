// spider-rs on the benchmark's pages: node spider_rs.js SEED MAX_PAGES, the pages' URLs to items.jsonl.
// Without a callback per page, which is its fastest way: handing each page to JavaScript doubles its CPU time.
// Runs where @spider-rs/spider-rs is installed (NODE_PATH); knows nothing of lycosa.
const fs = require("node:fs");
const { Website } = require("@spider-rs/spider-rs");

async function main() {
  const [seed, maxPages] = [process.argv[2], Number(process.argv[3])];
  const website = new Website(seed)
    .withRespectRobotsTxt(true)
    .withUserAgent("bench-spider-rs")
    .withDelay(0)
    .withBudget({ "*": maxPages })
    .build();
  await website.crawl();
  const items = website.getLinks().map((url) => JSON.stringify({ url }) + "\n");
  fs.writeFileSync("items.jsonl", items.join(""));
  console.log(JSON.stringify({ pages: items.length }));
  process.exit(0);
}

main();
