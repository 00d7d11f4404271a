"""Made-up sites to judge the rules against endless sites with: finite ones of which all must be found, and endless
parts beside finite ones. `python -m tests.site.web.run` crawls them with the real command.
"""
