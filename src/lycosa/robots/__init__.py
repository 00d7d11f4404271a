"""robots.txt: what a site allows, remembered per origin."""
