"""One GET by a client of Python, with nothing set by hand: fetch.py CLIENT URL. Prints the body."""
import os
import sys

client, url = sys.argv[1:]
headers = {"Authorization": "Bearer " + os.environ["API_KEY"]}
if client == "urllib":
    from urllib.request import Request, urlopen

    sys.stdout.write(urlopen(Request(url, headers=headers)).read().decode())
else:
    try:
        import requests
    except ImportError:
        # pip brings the same code along.
        from pip._vendor import requests
    answer = requests.get(url, headers=headers)
    answer.raise_for_status()
    sys.stdout.write(answer.text)
