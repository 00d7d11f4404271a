"""What is learnt of each site while it is crawled, and what is judged by it."""
