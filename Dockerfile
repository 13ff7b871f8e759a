# One image for toolsearch-server serve, toolsearch-server watch and toolsearch. Build: docker build --tag toolsearch:0.1.0 .
# tests/image runs these steps in a debootstrapped root: make test-image.

FROM debian:trixie-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates gcc libc6-dev python3 python3-venv
RUN python3 -m venv /opt/uv && /opt/uv/bin/pip install --no-cache-dir --disable-pip-version-check uv==0.13.8
ENV UV_NO_CACHE=1 UV_PYTHON_DOWNLOADS=never
WORKDIR /build
COPY requirements.image.lock requirements.lock ./
RUN /opt/uv/bin/uv venv --quiet --python /usr/bin/python3 /opt/toolsearch
RUN /opt/uv/bin/uv pip sync --quiet --python /opt/toolsearch --require-hashes --compile-bytecode requirements.image.lock
COPY pyproject.toml hatch_build.py README.md CHANGELOG.md ./
COPY service service
COPY clients/python clients/python
# What builds the wheels is locked, too.
RUN /opt/uv/bin/uv build --quiet --all-packages --wheel --out-dir /dist --build-constraints requirements.lock --require-hashes
RUN /opt/uv/bin/uv pip install --quiet --python /opt/toolsearch --no-deps --offline --compile-bytecode /dist/*.whl

FROM debian:trixie-slim AS runtime
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates python3 && rm -rf /var/lib/apt /var/cache /var/log/*
COPY --from=build /opt/toolsearch /opt/toolsearch
RUN find / -xdev -type f -perm /6000 -exec chmod a-s {} +
# Nothing here needs a shell, a package manager or Perl, and nobody who gets in should find one. What is installed stays on record.
RUN rm -rf /usr/share/doc /usr/share/man /usr/share/info /usr/share/locale /usr/share/perl* /usr/lib/*/perl-base /usr/bin/perl* \
    /usr/bin/apt* /usr/bin/dpkg* /usr/lib/apt /usr/lib/dpkg /usr/sbin/dpkg* /opt/toolsearch/bin/activate* \
    /usr/bin/bash /usr/bin/rbash /usr/bin/dash /usr/bin/sh

FROM scratch
COPY --from=runtime / /
ENV PATH=/opt/toolsearch/bin:/usr/local/bin:/usr/bin:/bin PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /
# By number, so that Kubernetes can see that it is not root.
USER 65532:65532
EXPOSE 50051 8080
ENTRYPOINT ["toolsearch-server"]
CMD ["serve"]
