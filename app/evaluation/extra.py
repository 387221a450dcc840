"""How to install what measuring needs beside the service.

From the source, never by name: the `groundwork` of the public package index is somebody else's.
"""

HOW_TO_INSTALL = (
    "in the folder of Groundwork's source, .venv/bin/pip install -c requirements.lock -e '.[eval]'"
)
