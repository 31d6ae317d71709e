# docker build --build-arg VERSION=$(git describe --tags --always) -t portico .
# docker run -p 8080:8080 -v portico-data:/data portico
# docker run --network host --entrypoint contracttest portico --url http://127.0.0.1:8080
#
# A release replaces the stage "binaries" with a folder that has the programs already, as
# linux/amd64/portico: see .goreleaser.yaml.

# The digests are those of the indexes, for all platforms. To renew one:
#   docker buildx imagetools inspect golang:1.26.8-bookworm
FROM --platform=$BUILDPLATFORM golang:1.26.8-bookworm@sha256:a688600ca24f8a4d3ca77f95b0dd40704a9fc787c826660eb7ba0b641b8b175d AS binaries
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH TARGETPLATFORM VERSION=dev
# Pure Go, SQLite included, so the binaries need no C library. Without the tag gin links a
# MessagePack library that nothing here uses.
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -tags nomsgpack \
        -ldflags "-s -w -X github.com/portico-commerce/portico/config/buildinfo.version=${VERSION}" \
        -o "/${TARGETPLATFORM}/" ./cmd/portico ./cmd/contracttest

# Certificate authorities, time zones, /tmp and a user without rights, but no shell.
FROM gcr.io/distroless/static-debian12:nonroot@sha256:afa5c872c891853ca7fcf1f12c3edb23f7eeef36189728842dd51042ff57f7ab AS base

FROM base
ARG TARGETPLATFORM
COPY --from=binaries ${TARGETPLATFORM}/portico ${TARGETPLATFORM}/contracttest /usr/local/bin/
# An empty folder that belongs to the user: no command can make one without a shell.
COPY --from=base --chown=65532:65532 /home/nonroot /data

# A relative data base path lands on the volume.
WORKDIR /data
VOLUME /data
USER 65532:65532

# The operators' port stays on the container's loopback until
# PORTICO_OPS_LISTEN=0.0.0.0:9464 and PORTICO_OPS_TOKEN are set.
ENV PORTICO_LISTEN=0.0.0.0:8080 \
    PORTICO_LOG_FORMAT=json
EXPOSE 8080 9464

ENTRYPOINT ["/usr/local/bin/portico"]
CMD ["serve"]
