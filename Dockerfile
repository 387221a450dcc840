# Groundwork in a container: the model is converted while the image is built, so that the
# container needs neither torch nor a network.
#
#   docker build -t groundwork .
#   docker run --init -p 127.0.0.1:8000:8000 -v groundwork:/data -v ~/notes:/documents:ro groundwork

FROM python:3.11-slim AS builder

# Where pip finds the CPU build of torch; empty: the usual index, whose build may be the large one
# for GPUs. Either way torch is only used in this stage.
ARG TORCH_INDEX_URL=""

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_ROOT_USER_ACTION=ignore
RUN python -m venv /opt/groundwork/venv
ENV PATH="/opt/groundwork/venv/bin:$PATH"
WORKDIR /build

# Dependencies before the code: a change of code then leaves this layer as it is.
COPY pyproject.toml requirements.lock ./
RUN python -c "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb'))['project']; print(*p['dependencies'], *p['optional-dependencies']['postgres'], sep='\n')" > dependencies.txt \
    && if [ -n "$TORCH_INDEX_URL" ]; then \
           pip install --no-deps --index-url "$TORCH_INDEX_URL" "$(grep '^torch==' requirements.lock)"; \
       fi \
    && pip install --constraint requirements.lock --requirement dependencies.txt

COPY README.md LICENSE ./
COPY app ./app
COPY migrations ./migrations
RUN pip install --no-deps .

# Opening the embedder once converts the model and compares it with the original. It is done away
# from /build, so that the installed package is what runs.
WORKDIR /opt/groundwork
RUN MODELS_DIR=/opt/groundwork/models \
    python -c "from app.assembly.embedders import open_embedder; from app.settings import Settings; open_embedder(Settings()).close()" \
    && rm -f models/*.log

# What only the conversion needed (with a build of torch for GPUs: its libraries as well).
# The imports and a query show that nothing else did.
RUN pip freeze | sed -n -E 's/^((nvidia|cuda)[-_][A-Za-z0-9_.-]*)==.*/\1/p' \
        | xargs --no-run-if-empty pip uninstall --quiet --yes \
    && pip uninstall --quiet --yes torch triton sentence-transformers transformers safetensors \
        scikit-learn scipy joblib threadpoolctl cloudpickle narwhals sympy mpmath networkx jinja2 \
    && MODELS_DIR=/opt/groundwork/models \
       python -c "import app.main; from app.assembly.embedders import open_embedder; from app.settings import Settings; e = open_embedder(Settings()); print(e.embed_query('ready').shape); e.close()"


FROM python:3.11-slim

LABEL org.opencontainers.image.title="Groundwork" \
      org.opencontainers.image.description="A self-hosted knowledge service: hand it documents, ask where something is said, get the lines." \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"

RUN groupadd --system --gid 10001 groundwork \
    && useradd --system --uid 10001 --gid groundwork --home-dir /data --no-create-home \
        --shell /usr/sbin/nologin groundwork \
    && install --directory --owner=groundwork --group=groundwork --mode=0700 /data \
    && install --directory /documents

COPY --from=builder /opt/groundwork /opt/groundwork

# MODELS_DIR lies outside /data, where a volume would hide it.
ENV PATH="/opt/groundwork/venv/bin:$PATH" \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOST=0.0.0.0 \
    PORT=8000 \
    DATA_DIR=/data \
    MODELS_DIR=/opt/groundwork/models \
    SOURCE_ROOTS=/documents

USER groundwork
WORKDIR /data
VOLUME /data
EXPOSE 8000

HEALTHCHECK --interval=15s --timeout=3s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as web; web.build_opener(web.ProxyHandler({})).open(f\"http://127.0.0.1:{os.environ['PORT']}/health/live\", timeout=2)"]

# The server stops in order at SIGTERM, within the 10 s that an engine gives it. Run it with --init,
# so that a signal is heeded while it is still starting, too.
STOPSIGNAL SIGTERM
CMD ["groundwork", "serve"]
