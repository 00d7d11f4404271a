# lycosa in a container: docker build -t lycosa . && docker run --rm lycosa demo
FROM python:3.13-slim AS build
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY pyproject.toml MANIFEST.in README.md LICENSE ./
COPY tools tools
COPY src src
RUN python -m venv /opt/lycosa \
    && /opt/lycosa/bin/pip install --no-cache-dir ".[s3]"

FROM python:3.13-slim
COPY --from=build /opt/lycosa /opt/lycosa
RUN useradd --uid 10001 --create-home lycosa \
    && install --directory --owner lycosa /crawls
ENV PATH="/opt/lycosa/bin:$PATH"
USER 10001
WORKDIR /crawls
VOLUME /crawls
# What is under way is finished and kept: give it its time (docker stop --time 30).
STOPSIGNAL SIGTERM
ENTRYPOINT ["lycosa"]
CMD ["--help"]
