"""An S3 server on this machine, by moto: its address, clients and users whose permissions it checks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def s3_server() -> Iterator[str]:
    """The address of a server that checks no permissions until check_permissions, and none after it."""
    moto = pytest.importorskip("moto.server", reason="moto is not installed")
    running = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    address = "http://{}:{}".format(*running.get_host_and_port())
    try:
        yield address
    finally:
        # moto keeps this for the whole process: the server of another test file would check them too.
        check_permissions(address, False)
        running.stop()


def client(address: str, service: str = "s3") -> Any:
    import boto3

    return boto3.client(
        service, endpoint_url=address, region_name="us-east-1", aws_access_key_id="key",
        aws_secret_access_key="secret",
    )  # fmt: skip


def create_user(address: str, name: str, effect: str, actions: str | list[str]) -> dict[str, str]:
    """Returns the access key of a new user, whom the server allows or denies some actions."""
    iam = client(address, "iam")
    iam.create_user(UserName=name)
    statement = {"Effect": effect, "Action": actions, "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    iam.put_user_policy(UserName=name, PolicyName="p", PolicyDocument=policy)
    return dict(iam.create_access_key(UserName=name)["AccessKey"])


def check_permissions(address: str, on: bool) -> None:
    import requests

    requests.post(f"{address}/moto-api/reset-auth", data=b"0" if on else b"inf", timeout=10)
