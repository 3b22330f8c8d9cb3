"""What tests of running programs share: free ports, waiting, HTTP. The servers of the demo have it already."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "dashboards" / "demo"))

import servers  # noqa: E402
from servers import free_ports, get  # noqa: E402, F401


LONG = 300  # seconds after which what does not happen is a fault, however slow and busy the machine


def free_port():
    return free_ports(1)[0]


def wait_for(what, condition, seconds=LONG, children=(), pause=0.1):
    """The first true value of `condition()`; an error counts as not yet. Raises ServerError after `seconds`."""
    return servers.wait_for(what, condition, seconds, children, pause)


def get_text(port, path, **parameters):
    """The answer to GET of this path of a server on this machine; raises ServerError with the answer of a refusal."""
    query = f"?{servers.urllib.parse.urlencode(parameters, doseq=True)}" if parameters else ""
    return get(f"http://{servers.HOST}:{port}{path}{query}").decode()
