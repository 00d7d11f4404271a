"""`lycosa bench freshness`: when to come back, on made-up webs that change and a simulated clock."""
