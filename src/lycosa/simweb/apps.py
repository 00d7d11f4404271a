"""Sites that are applications: one small HTML file for every path, a router in plain JavaScript, pages out of JSON.

To a crawler without a browser they have one page, and it is empty.
"""

from __future__ import annotations

import json

from lycosa.simweb.hand import HandWeb

SHELL = """<!doctype html><html lang=en><head><meta charset=utf-8><title>Shop</title></head>
<body><div id="app"></div><script src="/assets/app.js"></script></body></html>"""

# Links are followed without leaving the page, as applications do it: by history.pushState and a listener for clicks.
ROUTER = """
'use strict';
const app = document.getElementById('app');
const link = (href, text) => `<a href="${href}">${text}</a>`;
const views = [
  [/^\\/$/, async () => ['Shop', '<h1>Shop</h1>' + link('/list/1', 'All there is')]],
  [/^\\/list\\/(\\d+)$/, async number => {
    const list = await load(`/api/list/${number}.json`);
    const further = list.next ? link(`/list/${list.next}`, 'Further') : '';
    return [`List ${number}`, '<ul>' + list.items.map(each =>
      `<li>${link('/item/' + each.id, each.name)}</li>`).join('') + '</ul>' + further];
  }],
  [/^\\/item\\/(\\d+)$/, async number => {
    const item = await load(`/api/item/${number}.json`);
    return [item.name, `<article><h1>${item.name}</h1><p>${item.text}</p></article>` + link('/list/1', 'Back')];
  }],
];
async function load(path) {
  const answer = await fetch(path, {headers: {'X-Requested-With': 'app'}});
  if (!answer.ok) throw new Error(path);
  return answer.json();
}
async function show() {
  for (const [pattern, view] of views) {
    const match = pattern.exec(location.pathname);
    if (!match) continue;
    const [title, html] = await view(match[1]);
    document.title = title;
    app.innerHTML = html;
    return;
  }
  app.textContent = 'There is no such page.';
}
addEventListener('click', event => {
  const anchor = event.target.closest('a');
  if (!anchor) return;
  event.preventDefault();
  history.pushState({}, '', anchor.href);
  show();
});
addEventListener('popstate', show);
show();
"""

_TEXT = "%s is made by hand from what grows behind the house, and comes with a letter about whoever made it."


def put_shop(web: HandWeb, host: str, *, items: int = 12, per_list: int = 5) -> dict[str, str]:
    """Put a shop on a host. Returns the title of every page it has, by path."""
    home = f"http://{host}"
    javascript, data = {"Content-Type": "text/javascript"}, {"Content-Type": "application/json"}
    web.page(f"{home}/assets/app.js", ROUTER, headers=javascript)
    titles = {"/": "Shop"}
    names = {number: f"Basket number {number}" for number in range(1, items + 1)}
    for number, name in names.items():
        titles[f"/item/{number}"] = name
        item = {"id": number, "name": name, "text": _TEXT % name}
        web.page(f"{home}/api/item/{number}.json", json.dumps(item), headers=data)
    lists = [list(names)[start : start + per_list] for start in range(0, items, per_list)]
    for number, ids in enumerate(lists, 1):
        titles[f"/list/{number}"] = f"List {number}"
        listed = {"items": [{"id": each, "name": names[each]} for each in ids]}
        further = {"next": number + 1} if number < len(lists) else {}
        web.page(f"{home}/api/list/{number}.json", json.dumps(listed | further), headers=data)
    for path in titles:
        web.page(home + path, SHELL)
    return titles
