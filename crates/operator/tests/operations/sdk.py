"""Drives the emulator with Oracle's own SDK, and passes what our operator sends through the SDK's models.

Takes one JSON argument, the name of a file: the address of the emulator, its configuration file and the kinds, each with its
calls, the paths' parameters, and the bodies that the operator sends. Prints the name of each kind that works, and exits with an
error at the first that does not.
"""

import importlib
import inspect
import json
import pkgutil
import re
import sys
import traceback
from datetime import datetime

import oci

with open(sys.argv[1]) as file:
    settings = json.load(file)
config = oci.config.from_file(settings["configFile"])
folders = {name.replace("_", ""): name for _, name, is_package in pkgutil.iter_modules(oci.__path__) if is_package}


def snake(name):
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def camel(name):
    return re.sub(r"_(\w)", lambda it: it[1].upper(), name)


class Service:
    """The clients of a service of the SDK."""

    def __init__(self, name):
        module = importlib.import_module("oci." + folders[name])
        classes = [it for name, it in inspect.getmembers(module, inspect.isclass) if name.endswith("Client")]
        self.models = module.models
        self.clients = [it(config, service_endpoint=f"{settings['url']}/{name}", retry_strategy=oci.retry.NoneRetryStrategy())
                        for it in classes]

    def call(self, name):
        """The method of an operation, whose names differ in no more than their spelling."""
        plain = name.lower()
        for client in self.clients:
            for attribute in dir(client):
                if attribute.replace("_", "") == plain:
                    return getattr(client, attribute)
        raise AssertionError(f"the SDK has no {name}")


def details_of(method):
    """The name and the type of the body of a call."""
    return re.search(r":param oci\.[\w.]*\.(\w+) (\w+_details|\w+):", method.__doc__).groups()


def through(method, body):
    """The model that a body is, and that it is the same body again."""
    kind, name = details_of(method)
    base = method.__self__.base_client
    try:
        model = base.deserialize_response_data(json.dumps(body).encode(), kind)
    except ValueError as error:
        # Some base classes refuse types that they have subclasses for.
        if "Invalid value" in str(error) and camel(str(error).split("`")[1]) in inspect.getsource(base.complex_type_mappings[kind].get_subtype):
            return None
        raise
    again = base.sanitize_for_serialization(model, kind)
    differ("", body, again)
    return {name: model}


def differ(path, sent, again):
    if isinstance(sent, dict) and isinstance(again, dict):
        assert sent.keys() == again.keys(), f"{path}: {sorted(sent.keys() ^ again.keys())} differ in {sent} and {again}"
        for key in sent:
            differ(f"{path}.{key}", sent[key], again[key])
    elif isinstance(sent, list) and isinstance(again, list):
        assert len(sent) == len(again), path
        for index, (one, other) in enumerate(zip(sent, again)):
            differ(f"{path}[{index}]", one, other)
    elif isinstance(again, str) and sent != again:
        time = lambda text: datetime.fromisoformat(text.replace("Z", "+00:00"))
        assert time(sent) == time(again), f"{path}: {sent} {again}"
    else:
        assert sent == again, f"{path}: {sent} {again}"


def complete(what, model):
    """Checks that a response has all that the SDK promises of it, and nothing that it does not know."""
    if isinstance(model, (list, tuple)):
        for entry in model:
            complete(what, entry)
    elif isinstance(model, dict):
        complete(what, list(model.values()))
    elif hasattr(model, "swagger_types"):
        for field in model.swagger_types:
            value = getattr(model, field)
            required = any("**[Required]**" in (vars(it)[field].__doc__ or "") for it in type(model).__mro__ if field in vars(it))
            assert value is not None or not required, f"{what}: {type(model).__name__}.{field} is missing"
            assert not isinstance(value, str) or value != "UNKNOWN_ENUM_VALUE", f"{what}: {type(model).__name__}.{field} is none of its values"
            complete(what, value)


def drive(kind):
    service = Service(kind["service"])
    parents = {snake(name): value for name, value in kind["parents"].items()}
    call = {verb: service.call(name) for verb, name in kind["calls"].items()}
    for body in kind["bodies"]:
        through(call["create"], body)
    for body in kind["otherUpdates"]:
        through(call["update"], body)
    within = lambda names: {name: parents[name] for name in map(snake, names)}
    created = call["create"](**within(kind["createPath"]), **through(call["create"], kind["bodies"][0]))
    path = kind["path"][:-1]
    if kind["address"]:
        name = kind["address"]
    elif created.data is not None:
        complete("create", created.data)
        name = getattr(created.data, snake(kind["idField"]))
    elif "opc-work-request-id" in created.headers:
        name = finished(kind, service, created)
    else:
        scope = {snake(name): value for name, value in kind["scope"].items()}
        name = oci.pagination.list_call_get_all_results(call["list"], **scope).data[0].id
    at = {verb: {**within(path), snake(last): name} for verb, last in kind["named"].items()}
    shown = until_ready(kind, call["get"], at["get"])
    complete("get", shown.data)
    scope = {snake(name): value for name, value in kind["scope"].items()}
    listed = oci.pagination.list_call_get_all_results(call["list"], **scope).data
    listed = getattr(listed, "items", listed)
    assert len(listed) == 1, f"{len(listed)} are listed"
    complete("list", listed)
    for body in kind["updates"]:
        call["update"](**at["update"], **through(call["update"], body))
        shown = until_ready(kind, call["get"], at["get"])
        complete("get", shown.data)
    if "move" in call:
        call["move"](**at["move"], **through(call["move"], {"compartmentId": "ocid1.compartment.oc1..elsewhere"}))
        shown = until_ready(kind, call["get"], at["get"])
        assert shown.data.compartment_id == "ocid1.compartment.oc1..elsewhere"
    etag = shown.headers["etag"]
    delete = through(call["delete"], {}) if kind["schedulesDelete"] else {}
    if "if_match" in inspect.getsource(call["delete"]):
        try:
            call["delete"](**at["delete"], **delete, if_match="another")
        except oci.exceptions.ServiceError as error:
            assert (error.status, error.code) == (412, "NoEtagMatch"), error
        else:
            raise AssertionError("an outdated version was deleted")
        call["delete"](**at["delete"], **delete, if_match=etag)
    else:
        call["delete"](**at["delete"], **delete)
    until_gone(kind, call["get"], at["get"])


def finished(kind, service, accepted):
    """The resource of a work request, which is then over."""
    work = accepted.headers["opc-work-request-id"]
    if kind["shared"]:
        poll = oci.work_requests.WorkRequestClient(config, service_endpoint=f"{settings['url']}/workrequests").get_work_request
    else:
        poll = service.call(kind["workRequest"])
    for _ in range(20):
        shown = poll(work).data
        if shown.status == "SUCCEEDED":
            if kind["knowsTypes"]:
                complete("work request", shown)
            return shown.resources[0].identifier
    raise AssertionError("the work request does not end")


def until_ready(kind, get, at):
    for _ in range(20):
        shown = get(**at)
        if not kind["ready"] or shown.data.lifecycle_state in kind["ready"]:
            return shown
    raise AssertionError(f"it never is {kind['ready']}")


def until_gone(kind, get, at):
    for _ in range(20):
        try:
            shown = get(**at)
        except oci.exceptions.ServiceError as error:
            assert error.status == 404, error
            return
        if shown.data.lifecycle_state in kind["scheduled"]:
            return
    raise AssertionError("it never is gone")


failures = []
for kind in settings["kinds"]:
    try:
        drive(kind)
        print(kind["name"], flush=True)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        failures.append(f"{kind['name']}: {type(error).__name__}: {error} ({where.name}, line {where.lineno})")
# An empty text would count as a failure.
sys.exit("\n".join(failures) or None)
