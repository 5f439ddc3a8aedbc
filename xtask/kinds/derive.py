"""Derives descriptions of kinds from Oracle's Python SDK, without running it: `cargo xtask kinds` calls this.

    derive.py SDK_FOLDER REVIEW_FILE OUT_FOLDER

A kind is a resource with create, get, update, delete and list and a lifecycle state. What the SDK does not say is in the
review file: secrets, the kinds that are exercised end to end, what states mean. Kinds that cannot be derived are listed in
`OUT_FOLDER/../not-derivable.md` with the reason.
"""

import ast
import json
import re
import sys
from pathlib import Path

SIMPLE = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "datetime": "time", "date": "string",
          "object": "any", "file": "any"}
# How deep models are followed; deeper ones, and recursive ones, are cut to `any`.
DEPTH = 6


class NotDerivable(Exception):
    """Why a kind cannot be served."""


def camel(snake):
    return "".join(word[:1].upper() + word[1:] for word in snake.split("_"))


def plural(name):
    """The plural in paths of the API server, as controller-gen forms it."""
    name = name.lower()
    if re.search(r"[^aeiou]y$", name):
        return name[:-1] + "ies"
    return name + ("es" if re.search(r"(s|x|z|ch|sh)$", name) else "s")


class Model:
    """A class in `models`: its fields, and which are required."""

    def __init__(self, path):
        tree = ast.parse(path.read_text())
        self.definition = next(node for node in tree.body if isinstance(node, ast.ClassDef))
        self.name = self.definition.name
        self.base = next((ast.unparse(base) for base in self.definition.bases if ast.unparse(base) != "object"), None)
        self.types, self.names, self.variants, self.discriminator = {}, {}, {}, None
        self.constants, self.required = {}, set()
        for node in self.definition.body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                self.constants[node.targets[0].id] = node.value.value
            if isinstance(node, ast.FunctionDef):
                self.read(node)

    def read(self, function):
        if function.name == "get_subtype":
            for node in ast.walk(function):
                if isinstance(node, ast.If) and isinstance(node.test, ast.Compare):
                    variant = node.test.comparators[0].value
                    self.variants[variant] = node.body[0].value.value
                if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
                    self.discriminator = node.slice.value
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
                attribute, value = node.targets[0].attr, node.value
                if attribute == "swagger_types":
                    self.types = ast.literal_eval(value)
                elif attribute == "attribute_map":
                    self.names = ast.literal_eval(value)
        is_getter = any(isinstance(it, ast.Name) and it.id == "property" for it in function.decorator_list)
        if is_getter and "**[Required]**" in (ast.get_docstring(function) or ""):
            self.required.add(function.name)

    def allowed(self, field):
        """The values of an enumeration: constants that start with the field's name."""
        start = field.upper() + "_"
        # Of fields `type` and `type_detail`, the longer one claims its own constants.
        longer = [other for other in self.types if other != field and other.startswith(field + "_")]
        values = [value for name, value in self.constants.items() if name.startswith(start)
                  and not any(name.startswith(other.upper() + "_") for other in longer)]
        return [value for value in values if value != "UNKNOWN_ENUM_VALUE"]


class Client:
    """A client class: where it calls, and its operations."""

    def __init__(self, path):
        text = path.read_text()
        tree = ast.parse(text)
        definition = next(node for node in tree.body if isinstance(node, ast.ClassDef))
        found = lambda key: (re.search(rf"'{key}': '([^']*)'", text) or [None, None])[1]
        self.base_path, self.endpoint = found("base_path"), found("service_endpoint_template")
        self.regional = "'regional_client': True" in text
        lines = text.split("\n")
        sources = {node: "\n".join(lines[node.lineno - 1:node.end_lineno]) for node in definition.body
                   if isinstance(node, ast.FunctionDef)}
        self.operations = {node.name: Operation(node, source) for node, source in sources.items()
                           if "resource_path = " in source}
        composite = path.with_name(path.stem + "_composite_operations.py")
        self.by_work_request, self.shared = set(), set()
        if composite.exists():
            text = composite.read_text()
            lines = text.split("\n")
            for node in ast.parse(text).body[-1].body:
                source = "\n".join(lines[node.lineno - 1:node.end_lineno])
                name = getattr(node, "name", "").removesuffix("_and_wait_for_state").removesuffix("_and_wait_for_work_request")
                if "opc-work-request-id" in source:
                    self.by_work_request.add(name)
                    if "_work_request_client" in source:
                        self.shared.add(name)


class Operation:
    def __init__(self, node, source):
        found = lambda pattern: (re.search(pattern, source) or [None, None])[1]
        self.name = node.name
        self.path, self.method = found(r'resource_path = "([^"]*)"'), found(r'method = "([A-Z]+)"')
        self.body = found(r"\bbody=(\w+)")
        self.response = found(r'response_type="([^"]*)"')
        docs = ast.get_docstring(node) or ""
        self.body_type = (re.search(rf":param oci\.[\w.]*\.(\w+) {self.body}:", docs) or [None, None])[1]
        self.retry_token = '"opc-retry-token"' in source
        self.query_names = re.findall(r'"(\w+)":', (re.search(r"query_params = \{(.*?)\n        \}", source, re.S) or ["", ""])[1])
        self.required_query = re.findall(r"'(\w+)'", found(r"required_arguments = \[([^\]]*)\]") or "")
        self.api_name = (re.search(r"/(\w+)\"", found(r'api_reference_link = ("[^"]*")') or "") or [None, camel(self.name)])[1]

    def route(self):
        return f"{self.api_name} {self.method} {self.path}"


class Service:
    def __init__(self, folder, review):
        self.folder, self.review = folder, review
        self.name = folder.name.replace("_", "")
        self.models = {}
        for path in sorted((folder / "models").glob("*.py")):
            if path.name != "__init__.py":
                model = Model(path)
                self.models[model.name] = model
        self.clients = [Client(path) for path in sorted(folder.glob("*_client.py"))]
        self.used = {}

    def shape(self, written, depth, trail):
        """The shape of a type of the SDK, with the models it needs."""
        if written in SIMPLE:
            return SIMPLE[written]
        if listed := re.fullmatch(r"list\[(.*)\]", written):
            return self.shape(listed[1], depth, trail) + "[]"
        if mapped := re.fullmatch(r"dict\(str, ?(.*)\)", written):
            below = self.shape(mapped[1], depth, trail)
            return below + "{}"
        if written not in self.models or written in trail or depth >= DEPTH:
            return "any"
        return self.model(written, depth, trail)

    def model(self, name, depth, trail):
        if name in self.used:
            return name if self.used[name] is not None else "any"
        self.used[name] = None
        model, trail = self.models[name], trail + [name]
        described = {"fields": {}}
        if model.variants:
            described["discriminator"] = model.discriminator
            described["variants"] = sorted(model.variants)
            for variant in model.variants.values():
                if variant in self.models:
                    self.fields(self.models[variant], described["fields"], depth, trail, required=False)
            described["fields"][model.discriminator] = "string"
            described["fields"]["jsonData"] = "string"
        self.fields(model, described["fields"], depth, trail)
        self.used[name] = described
        return name

    def fields(self, model, into, depth, trail, required=True):
        for field, written in model.types.items():
            name = model.names[field]
            if name in into:
                continue
            shape = self.field(model, field, written, depth, trail)
            into[name] = shape + (" required" if required and self.is_required(model, field) else "")

    def field(self, model, field, written, depth, trail):
        name = model.names[field]
        if name in ("definedTags", "systemTags"):
            return "string{}{}"
        if name == "freeformTags":
            return "string{}"
        if written == "str" and self.is_secret(name):
            return "secret"
        if values := model.allowed(field):
            shape = "(" + "|".join(values) + ")"
            if written == "str":
                return shape
            if written == "list[str]":
                return shape + "[]"
        return self.shape(written, depth + 1, trail)

    def is_required(self, model, field):
        while model:
            if field in model.required:
                return True
            model = self.models.get((model.base or "").split(".")[-1])
        return False

    def is_secret(self, name):
        return any(re.search(pattern, name) for pattern in self.review["secrets"]) and name not in self.review["notSecret"]

    def describe(self):
        kinds, refused = [], {}
        addresses = {}
        for client in self.clients:
            for operation in client.operations.values():
                if not operation.name.startswith("create_"):
                    continue
                stem = operation.name.removeprefix("create_")
                calls = {verb: client.operations.get(f"{verb}_{stem}") for verb in ("create", "get", "update", "delete")}
                lists = [client.operations.get("list_" + many) for many in (stem + "s", plural(stem), stem)]
                calls["list"] = next((call for call in lists if call), None)
                if not calls["get"]:
                    continue
                name = calls["get"].response or camel(stem)
                model = self.models.get(name)
                if not model or "lifecycle_state" not in model.types and f"{self.name}/{name}" not in self.review["without state"]:
                    continue
                if any(kind["name"] == name for kind in kinds) or name in refused:
                    continue
                before = dict(self.used)
                try:
                    kinds.append(self.kind(client, stem, name, model, calls))
                    addresses.setdefault((client.endpoint, client.base_path), []).append(name)
                except NotDerivable as reason:
                    self.used = before
                    refused[name] = str(reason)
        if not kinds:
            return None, refused
        (endpoint, base_path), _ = max(addresses.items(), key=lambda it: len(it[1]))
        for (other, path), names in addresses.items():
            if (other, path) != (endpoint, base_path):
                kinds = [kind for kind in kinds if kind["name"] not in names]
                refused |= {name: "it is at another address than most kinds of its service" for name in names}
        service = {"name": self.name, "host": host(endpoint), "version": base_path.strip("/")}
        if any("workRequests" in kind for kind in kinds):
            if calls := self.work_requests(any(client.shared for client in self.clients)):
                service["workRequests"] = calls
            else:
                # A work request that cannot be read is no more than a breadcrumb.
                for kind in kinds:
                    kind.pop("workRequests", None)
                    kind.pop("operationTypes", None)
        reachable = set()
        for kind in kinds:
            for fields in (kind["spec"], kind["status"]):
                self.reach(fields, reachable)
        service["models"] = {name: self.used[name] for name in sorted(reachable)}
        service["kinds"] = sorted(kinds, key=lambda kind: kind["name"])
        return service, refused

    def reach(self, fields, reachable):
        for line in fields.values():
            name = re.match(r"[A-Z]\w*", line)
            if name and name[0] not in reachable:
                reachable.add(name[0])
                self.reach(self.used[name[0]]["fields"], reachable)

    def work_requests(self, shared):
        if shared:
            return {"service": {"name": "workrequests", "host": "iaas.{region}.{domain}", "version": "20160918"},
                    "get": "GetWorkRequest GET /workRequests/{workRequestId}",
                    "list": "ListWorkRequests GET /workRequests",
                    "errors": "ListWorkRequestErrors GET /workRequests/{workRequestId}/errors",
                    "logs": "ListWorkRequestLogs GET /workRequests/{workRequestId}/logs"}
        for client in self.clients:
            if get := client.operations.get("get_work_request"):
                calls = {"get": get.route()}
                for key, name in (("list", "list_work_requests"), ("errors", "list_work_request_errors"),
                                  ("logs", "list_work_request_logs")):
                    call = client.operations.get(name)
                    if call and (key != "list" or "compartmentId" in call.query_names):
                        calls[key] = call.route()
                return calls
        return None

    def kind(self, client, stem, name, model, calls):
        for verb, call in calls.items():
            if call is None:
                raise NotDerivable(f"the SDK has no {verb}")
        if not client.regional:
            raise NotDerivable("its client is not regional")
        if not client.endpoint or "{region}" not in client.endpoint:
            raise NotDerivable("its address is not one of a region")
        create, update = (self.models.get(calls[verb].body_type or "") for verb in ("create", "update"))
        if not create or not update:
            raise NotDerivable("the SDK names no type of the body")
        if create.variants or update.variants:
            raise NotDerivable(f"{create.name} is one of several types")
        if "id" not in model.types:
            raise NotDerivable("it has no id")
        if "freeform_tags" not in create.types:
            raise NotDerivable("a create takes no freeformTags, so what belongs to an object cannot be found again")
        if "freeform_tags" not in model.types:
            raise NotDerivable("it does not show freeformTags, so what belongs to an object cannot be found again")
        spec, status = {}, {}
        self.fields(create, spec, 0, [])
        for field in [*spec]:
            if field in update.names.values():
                spec[field] += " update"
        late = {}
        self.fields(update, late, 0, [])
        for field, line in late.items():
            if field not in spec and line.split()[0] != "any":
                spec[field] = line.split()[0] + " late"
        self.fields(model, status, 0, [])
        # Nothing that a service shows is a secret, whatever its name.
        status = {field: line.replace("secret", "string") if line.startswith("secret") else line for field, line in status.items()}
        parents = re.findall(r"\{(\w+)\}", calls["create"].path)
        for parent in parents:
            spec[parent] = "string required"
        field = next((it for it in ("displayName", "name") if it in spec), None)
        if not field:
            field = next((it for it in spec if it.lower().endswith("name")), "compartmentId" if "compartmentId" in spec else None)
        if not field:
            raise NotDerivable("it has no name")
        scope = [it for it in calls["list"].required_query if it in spec]
        if set(calls["list"].required_query) - set(spec):
            raise NotDerivable("its listing needs " + ", ".join(sorted(set(calls["list"].required_query) - set(spec))))
        if not scope and "compartmentId" in calls["list"].query_names and "compartmentId" in spec:
            scope = ["compartmentId"]
        if not scope or any(not spec[it].startswith("string") for it in scope):
            raise NotDerivable("its listing has no parameter that a spec sets")
        kind = {"name": name, "plural": plural(name)}
        if f"{self.name}/{name}" not in self.review["exercised"]:
            kind["derived"] = True
        kind |= {verb: calls[verb].route() for verb in ("create", "get", "update", "delete", "list")}
        kind["scope"] = [scope]
        listed = calls["list"].response or ""
        entry = re.fullmatch(r"list\[(\w+)\]", listed)
        if entry:
            kind["bareList"] = True
        summary = self.models.get(entry[1] if entry else self.entry_of(listed) or "")
        if summary is None:
            raise NotDerivable("the SDK names no type of its listing's entries")
        if "id" not in summary.types:
            raise NotDerivable("its listing shows no id")
        hidden = sorted(set(model.names.values()) - set(summary.names.values()))
        if hidden:
            kind["notListed"] = hidden
        if calls["create"].retry_token:
            kind["retryToken"] = True
        phases = [verb for verb in ("create", "update", "delete") if calls[verb].name in client.by_work_request]
        if phases:
            kind["workRequests"] = phases
            if types := self.operation_types(stem):
                kind["operationTypes"] = types
        bodiless = [verb for verb in ("create", "update") if not calls[verb].response]
        if "create" in bodiless and "create" not in kind.get("workRequests", []):
            raise NotDerivable("a create answers with neither a resource nor a work request")
        if bodiless:
            kind["bodiless"] = bodiless
        states = model.allowed("lifecycle_state") if "lifecycle_state" in model.types else []
        kind["states"] = {state: self.review["states"][state] for state in states if state in self.review["states"]}
        if "ready" not in kind["states"].values():
            raise NotDerivable("none of its states is known to be ready")
        if "lifecycleDetails" not in status:
            details = next((it for it in status if it.startswith("lifecycle") and it != "lifecycleState"), None)
            if details:
                kind["details"] = details
        kind["nameField"] = field
        kind |= self.review["kinds"].get(f"{self.name}/{name}", {})
        kind["spec"], kind["status"] = dict(sorted(spec.items())), dict(sorted(status.items()))
        return kind

    def entry_of(self, collection):
        model = self.models.get(collection)
        written = model.types.get("items", "") if model else ""
        listed = re.fullmatch(r"list\[(\w+)\]", written)
        return listed[1] if listed else None

    def operation_types(self, stem):
        """The operation types of work requests that name the kind."""
        types = {}
        verbs = {"CREATE": "create", "UPDATE": "update", "DELETE": "delete", "MOVE": "update", "CHANGE": "update"}
        suffix = stem.upper()
        for model in self.models.values():
            if "operation_type" not in model.types or "WorkRequest" not in model.name:
                continue
            for value in model.allowed("operation_type"):
                verb, _, rest = value.partition("_")
                if verb in verbs and rest in (suffix, suffix + "_COMPARTMENT"):
                    types[value] = verbs[verb]
        return dict(sorted(types.items()))


def host(endpoint):
    text = endpoint.removeprefix("https://").replace("{secondLevelDomain}", "{domain}")
    return re.sub(r"\{dualStack\?[^:}]*:([^}]*)\}", r"\1", text)


def write(path, service):
    """One field or call to a line, so that a change of the SDK is a short diff."""
    lines = json.dumps(service, indent=1, ensure_ascii=False)
    lines = re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda found: "[" + re.sub(r"\s*\n\s*", " ", found[1]) + "]", lines)
    path.write_text(lines + "\n")


def main(sdk, review, out):
    review, out = json.loads(Path(review).read_text()), Path(out)
    refused, count = {}, 0
    for folder in sorted(Path(sdk).iterdir()):
        if not (folder / "models").is_dir() or folder.name in review["written by hand"]:
            continue
        service, why = Service(folder, review).describe()
        name = folder.name.replace("_", "")
        refused |= {f"{name}/{kind}": reason for kind, reason in why.items()}
        target = out / f"{name}.json"
        if service:
            count += len(service["kinds"])
            write(target, service)
        else:
            target.unlink(missing_ok=True)
    lines = ["# Kinds that cannot be derived", "", "Generated by `cargo xtask kinds` from Oracle's Python SDK.", "",
             "| kind | why |", "|---|---|"]
    lines += [f"| `{kind}` | {reason} |" for kind, reason in sorted(refused.items())]
    (out.parent / "not-derivable.md").write_text("\n".join(lines) + "\n")
    print(f"{count} kinds derived, {len(refused)} not derivable")


if __name__ == "__main__":
    main(*sys.argv[1:])
