"""What schemathesis cannot know: which workspace there is.

Without it nearly every request would be about a folder that does not exist, and some about one of this machine, such as its root, which
would be read whole. Those, and three in four of the others that are absolute, are sent about the one of .ci/schemathesis; paths of the wrong form stay as they
are, since refusing them is what is tested.
"""

import os
import zlib

import schemathesis

WORKSPACE = os.environ["MEMCORE_API_WORKSPACE"]


def exists(path):
    try:
        return os.path.exists(path)
    except ValueError:  # a NUL or half a surrogate pair
        return False


@schemathesis.hook
def before_call(context, case, kwargs):
    body = case.body
    if not isinstance(body, dict) or not isinstance(body.get("workspace"), str):
        return
    path = body["workspace"]
    if path.startswith("/") and (exists(path) or zlib.crc32(path.encode("utf-8", "surrogatepass")) % 4):
        case.body = {**body, "workspace": WORKSPACE}
