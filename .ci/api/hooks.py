"""What schemathesis cannot know: which workspace there is.

Without it nearly every request would be about a folder that does not exist. Three in four that name an absolute path are sent about the
one of .ci/schemathesis; paths of the wrong form stay as they are, since refusing them is what is tested.
"""

import os
import zlib

import schemathesis

WORKSPACE = os.environ["MEMCORE_API_WORKSPACE"]


@schemathesis.hook
def before_call(context, case, kwargs):
    body = case.body
    if not isinstance(body, dict) or not isinstance(body.get("workspace"), str):
        return
    if body["workspace"].startswith("/") and zlib.crc32(body["workspace"].encode("utf-8", "surrogatepass")) % 4:
        case.body = {**body, "workspace": WORKSPACE}
