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
DEPTH = 8
# The name of a field is unique if its documentation says so, and does not deny it.
UNIQUE = re.compile(r"(must|has to|should) be (globally )?unique|uniquely identif|is unique|unique (across|within|in|for|per) ")
NOT_UNIQUE = re.compile(r"(not|n't|need not|non)[ -]([a-z]+ ){0,4}unique", re.I)


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


def found(pattern, text):
    match = re.search(pattern, text, re.S)
    return match[1] if match else None


class Model:
    """A class in `models`: its fields, and which are required."""

    def __init__(self, path):
        tree = ast.parse(path.read_text())
        definition = next(node for node in tree.body if isinstance(node, ast.ClassDef))
        self.name = definition.name
        self.base = next((ast.unparse(base) for base in definition.bases if ast.unparse(base) != "object"), "")
        self.types, self.names, self.variants, self.discriminator = {}, {}, {}, None
        self.docs, self.allowed, self.fixed = {}, {}, {}
        for node in definition.body:
            if isinstance(node, ast.FunctionDef):
                self.read(node)

    def read(self, function):
        decorators = [ast.unparse(it) for it in function.decorator_list]
        if function.name == "get_subtype":
            for node in ast.walk(function):
                if isinstance(node, ast.If) and isinstance(node.test, ast.Compare):
                    self.variants[node.test.comparators[0].value] = node.body[0].value.value
                if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
                    self.discriminator = node.slice.value
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
                if node.targets[0].attr == "swagger_types":
                    self.types = ast.literal_eval(node.value)
                elif node.targets[0].attr == "attribute_map":
                    self.names = ast.literal_eval(node.value)
                elif function.name == "__init__" and isinstance(node.value, ast.Constant) and node.value.value is not None:
                    # What a subtype says that it is.
                    self.fixed[node.targets[0].attr.lstrip("_")] = [node.value.value]
            elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "allowed_values":
                self.allowed[function.name] = ast.literal_eval(node.value)
        if "property" in decorators:
            self.docs[function.name] = ast.get_docstring(function) or ""


class Models(dict):
    """The models of a service, read when they are needed."""

    def __init__(self, folder):
        super().__init__()
        listed = (folder / "__init__.py").read_text()
        self.paths = {name: folder / f"{file}.py" for file, name in re.findall(r"from \.(\w+) import (\w+)", listed)}

    def __missing__(self, name):
        self[name] = Model(self.paths[name])
        return self[name]

    def get(self, name):
        return self[name] if name in self.paths else None

    def lineage(self, model):
        """The model and those it inherits from."""
        while model:
            yield model
            model = self.get(model.base.split(".")[-1])

    def doc(self, model, field):
        docs = [it.docs[field] for it in self.lineage(model) if field in it.docs]
        return docs[0] if docs else ""

    def is_required(self, model, field):
        return any("**[Required]**" in it.docs.get(field, "") for it in self.lineage(model))

    def allowed(self, model, field):
        values = next((it.allowed[field] for it in self.lineage(model) if field in it.allowed), [])
        values = model.fixed.get(field, values)
        return [value for value in values if value != "UNKNOWN_ENUM_VALUE"]


class Client:
    """A client class: where it calls, and its operations."""

    def __init__(self, path):
        text = path.read_text()
        self.base_path, self.endpoint = found(r"'base_path': '([^']*)'", text), found(r"'service_endpoint_template': '([^']*)'", text)
        self.regional = "'regional_client': True" in text
        self.operations = {name: Operation(name, source) for name, source in methods(text) if "resource_path = " in source}
        composite = path.with_name(path.stem + "_composite_operations.py")
        self.by_work_request, self.shared = set(), False
        for name, source in methods(composite.read_text()) if composite.exists() else []:
            if "opc-work-request-id" in source:
                self.by_work_request.add(re.sub("_and_wait_for_(state|work_request)$", "", name))
                self.shared |= "_work_request_client" in source


def methods(text):
    """The names and sources of the methods of a class."""
    return [(found(r"def (\w+)\(", source), source) for source in re.split(r"\n(?=    def )", text) if source.startswith("    def ")]


class Operation:
    def __init__(self, name, source):
        self.name = name
        self.path, self.method = found(r'resource_path = "([^"]*)"', source), found(r'method = "([A-Z]+)"', source)
        body = found(r"\bbody=(\w+)", source)
        self.body_type = found(rf":param oci\.[\w.]*\.(\w+) {body}:", source)
        self.response = found(r'response_type="([^"]*)"', source)
        self.retry_token = '"opc-retry-token"' in source
        self.query_names = re.findall(r'"(\w+)":', found(r"query_params = \{(.*?)\n        \}", source) or "")
        required = re.findall(r"'(\w+)'", found(r"required_arguments = \[([^\]]*)\]", source) or "")
        self.in_path = re.findall(r"\{(\w+)\}", self.path)
        self.required_query = [it for it in required if it not in self.in_path]
        self.api_name = found(r'api_reference_link = "[^"]*/(\w+)"', source) or camel(self.name)

    def route(self):
        query = "?" + "&".join(self.required_query) if self.required_query else ""
        return f"{self.api_name} {self.method} {self.path}{query}"


class Service:
    def __init__(self, folder, review):
        self.review = review
        self.name = folder.name.replace("_", "")
        self.models = Models(folder / "models")
        self.clients = [Client(path) for path in sorted(folder.glob("*_client.py"))]
        self.used = {}

    def shape(self, written, trail):
        """The shape of a type of the SDK, with the models it needs."""
        if written in SIMPLE:
            return SIMPLE[written]
        if listed := re.fullmatch(r"list\[(.*)\]", written):
            return self.shape(listed[1], trail) + "[]"
        if mapped := re.fullmatch(r"dict\(str, ?(.*)\)", written):
            return self.shape(mapped[1], trail) + "{}"
        if self.models.get(written) is None or written in trail or len(trail) >= DEPTH:
            return "any"
        if written not in self.used:
            self.used[written] = None
            self.used[written] = self.described(self.models[written], trail + [written])
        return written if self.used[written] is not None else "any"

    def described(self, model, trail):
        """A model with its own fields and those of its variants."""
        described = {}
        fields = self.fields(model, trail)
        if model.variants:
            variants = {value: self.fields(self.models[name], trail) for value, name in sorted(model.variants.items())
                        if self.models.get(name)}
            # A field belongs to some types only, or only some of them require it.
            special = {field for own in variants.values() for field in own.keys() ^ fields.keys()}
            special |= {field for own in variants.values() for field, line in own.items()
                        if is_required(line) and not is_required(fields.get(field, ""))}
            special.discard(model.discriminator)
            described = {"discriminator": model.discriminator, "variants": {
                value: {field: line for field, line in sorted(own.items()) if field in special} for value, own in variants.items()}}
            for own in variants.values():
                for field, line in own.items():
                    before = fields.get(field, line)
                    fields[field] = either(before, line)
                    if fields[field].startswith("any") and any(self.has_secret(it) for it in (before, line)):
                        raise NotDerivable(f"{field} is something else in each of its types, and has passwords")
            # No object is of the base's own type.
            fields = {field: line.replace(" required", "") if field in special else line for field, line in fields.items()
                      if any(field in own for own in variants.values())}
            fields[model.discriminator] = "(" + "|".join(variants) + ") required"
        described["fields"] = dict(sorted(fields.items()))
        return described

    def has_secret(self, line):
        shape = line.split()[0]
        model = self.used.get(re.sub(r"[\[\]{}]", "", shape))
        return shape.startswith("secret") or bool(model) and any(self.has_secret(it) for it in model["fields"].values())

    def fields(self, model, trail):
        lines = {}
        for field, written in model.types.items():
            reviewed = f"{self.name}/{model.name}.{model.names[field]}"
            line = self.review["fields"].get(reviewed, self.field(model, field, written, trail))
            if line is None:
                continue
            lines[model.names[field]] = line + (" required" if self.models.is_required(model, field) else "")
        return lines

    def field(self, model, field, written, trail):
        name = model.names[field]
        if name in ("definedTags", "systemTags"):
            return "string{}{}"
        if name == "freeformTags":
            return "string{}"
        if written in ("str", "list[str]") and self.is_secret(name):
            return "secret" if written == "str" else "secret[]"
        values = self.models.allowed(model, field)
        if values and written in ("str", "list[str]"):
            return "(" + "|".join(values) + ")" + ("[]" if written != "str" else "")
        return self.shape(written, trail)

    def is_secret(self, name):
        matches = lambda patterns: any(re.search(pattern, name) for pattern in patterns)
        return matches(self.review["secrets"]) and not matches(self.review["not secrets"])

    def describe(self):
        kinds, refused, addresses = [], {}, {}
        for client in self.clients:
            for operation in client.operations.values():
                if not operation.name.startswith("create_"):
                    continue
                stem = operation.name.removeprefix("create_")
                calls = {verb: client.operations.get(f"{verb}_{stem}") for verb in ("create", "get", "update", "delete")}
                calls["delete"] = calls["delete"] or client.operations.get(f"schedule_{stem}_deletion")
                lists = [client.operations.get("list_" + many) for many in (stem + "s", plural(stem), stem)]
                calls["list"] = next((call for call in lists if call), None)
                name = calls["get"] and (calls["get"].response or camel(stem))
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
        for address, names in addresses.items():
            if address != (endpoint, base_path):
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
            self.reach({"fields": kind.get("listed", {})}, reachable)
            self.reach(kind["spec"], reachable)
            self.reach(kind["status"], reachable)
        service["models"] = {name: self.used[name] for name in sorted(reachable)}
        service["kinds"] = sorted(kinds, key=lambda kind: kind["name"])
        return service, refused

    def reach(self, model, reachable):
        for fields in (model["fields"], *model.get("variants", {}).values()):
            for line in fields.values():
                for name in re.findall(r"(?:^| update=)([A-Z]\w*)", str(line)):
                    if name not in reachable:
                        reachable.add(name)
                        self.reach(self.used[name], reachable)

    def work_requests(self, shared):
        if shared:
            return {"service": {"name": "workrequests", "host": "iaas.{region}.{domain}", "version": "20160918"},
                    "get": "GetWorkRequest GET /workRequests/{workRequestId}",
                    "list": "ListWorkRequests GET /workRequests",
                    "errors": "ListWorkRequestErrors GET /workRequests/{workRequestId}/errors",
                    "logs": "ListWorkRequestLogs GET /workRequests/{workRequestId}/logs"}
        name = self.review["work requests"].get(self.name, "work_request")
        for client in self.clients:
            if get := client.operations.get(f"get_{name}"):
                if "status" not in self.models[get.response].types:
                    return None
                calls = {"get": get.route()}
                for key, name in (("list", f"list_{name}s"), ("errors", f"list_{name}_errors"), ("logs", f"list_{name}_logs")):
                    call = client.operations.get(name)
                    if call and set(call.required_query) <= {"compartmentId"} and (key != "list" or "compartmentId" in call.query_names):
                        calls[key] = call.route() if key != "list" else call.route().split("?")[0]
                return calls
        return None

    def kind(self, client, stem, name, model, calls):
        for verb, call in calls.items():
            if call is None:
                raise NotDerivable(f"the SDK has no {verb}")
            if call.required_query and verb != "list":
                raise NotDerivable(f"a {verb} needs the parameter {call.required_query[0]}")
        if not client.regional:
            raise NotDerivable("its client is not regional")
        if not client.endpoint or "{region}" not in client.endpoint:
            raise NotDerivable("its address is not one of a region")
        create, update = (self.models.get(calls[verb].body_type) for verb in ("create", "update"))
        if not create or not update:
            raise NotDerivable("the SDK names no type of the body")
        spec, status = self.spec(create, update), self.described(model, [])
        fields, shown = spec["fields"], status["fields"]
        for parent in calls["create"].in_path:
            fields[parent] = "string required"
        required = calls["list"].in_path + calls["list"].required_query
        if "compartmentId" in required and "compartmentId" not in fields:
            fields["compartmentId"] = "string required local"
        kind = {"name": name, "plural": plural(name)}
        if f"{self.name}/{name}" not in self.review["exercised"]:
            kind["derived"] = True
        kind |= {verb: calls[verb].route().split("?")[0] for verb in ("create", "get", "update", "delete", "list")}
        if move := client.operations.get(f"change_{stem}_compartment"):
            moved = self.models.get(move.body_type)
            if moved and moved.types.keys() == {"compartment_id"} and "update" not in fields.get("compartmentId", "update"):
                kind["changeCompartment"] = move.route()
        kind |= self.identity(calls, model, fields, shown)
        if "always" in fields.get(kind.get("idField", "id"), "").split():
            raise NotDerivable("an update repeats its id")
        kind |= self.listing(calls["list"], kind, model, fields)
        is_special = any("freeformTags" in own for own in spec.get("variants", {}).values())
        if is_special or "late" in fields.get("freeformTags", "late") or "freeformTags" not in shown:
            field = next((field for field, named in create.names.items() if named == kind["nameField"]), "")
            doc = self.models.doc(create, field)
            if not UNIQUE.search(doc) or NOT_UNIQUE.search(doc):
                raise NotDerivable("it has no freeformTags and its names need not be unique, so what belongs to an object cannot be found again")
            kind["uniqueName"] = True
            # What is found again by its name keeps it.
            fields[kind["nameField"]] = fields[kind["nameField"]].replace(" update", "")
        if calls["create"].retry_token:
            kind["retryToken"] = True
        phases = [verb for verb in ("create", "update", "delete") if calls[verb].name in client.by_work_request]
        if phases:
            kind["workRequests"] = phases
            if types := self.review["operation types"].get(f"{self.name}/{name}") or self.operation_types(stem):
                kind["operationTypes"] = types
        bodies = [verb for verb in ("create", "update", "delete") if calls[verb].response]
        if "create" not in bodies and "create" not in phases:
            raise NotDerivable("a create answers with neither a resource nor a work request")
        if bodies != ["create", "update"]:
            kind["bodies"] = bodies
        states = self.models.allowed(model, "lifecycle_state") if "lifecycle_state" in model.types else []
        meanings = self.review["states"] | self.review["states of"].get(f"{self.name}/{name}", {})
        kind["states"] = {state: meanings[state] for state in states if state in meanings}
        if states and "ready" not in kind["states"].values():
            raise NotDerivable(f"none of its states is known to be ready: {', '.join(states)}")
        if "lifecycleDetails" not in shown:
            if details := next((it for it in shown if re.match("lifecycle(State)?(Details|Message)", it)), None):
                kind["details"] = details
        kind |= self.review["kinds"].get(f"{self.name}/{name}", {})
        for field, default in self.review["defaults"].get(f"{self.name}/{name}", {}).items():
            spec["fields"][field] = {"is": spec["fields"][field].replace(" required", ""), "default": default}
        spec["fields"] = dict(sorted(fields.items()))
        kind["spec"], kind["status"] = spec, status
        return kind

    def spec(self, create, update):
        """What a create takes, and what an update can change."""
        spec, changes = self.described(create, []), self.described(update, [])
        fields, changed = spec["fields"], changes["fields"]
        if is_required(changed.get("id", "")):
            raise NotDerivable("an update repeats its id")
        # The state of a resource is the service's to say.
        for field in ("id", "lifecycleState"):
            changed.pop(field, None)
        fields.pop("lifecycleState", None)
        if "id" in fields:
            fields["id"] += " unread"
        for field, line in changed.items():
            shape = line.split()[0]
            if field not in fields:
                fields[field] = line.replace(" required", "") + " late"
            elif fields[field].split()[0] == shape:
                fields[field] += " update"
            elif shape[0].isupper() == fields[field][0].isupper() and not self.asks_for_more(fields[field].split()[0], shape):
                fields[field] += f" update={shape}"
            if is_required(line) and field not in create.names.values():
                raise NotDerivable(f"an update needs {field}, which no create takes")
            if is_required(line):
                fields[field] += " always"
        for variant, own in changes.get("variants", {}).items():
            for field, line in own.items():
                if "late" in fields.get(field, "").split():
                    spec.setdefault("variants", {}).setdefault(variant, {})[field] = line.replace(" required", "") + " late"
        return spec

    def asks_for_more(self, shape, updated):
        """Whether an update needs fields of an object that a create does not have."""
        model, changed = (self.used.get(re.sub(r"[\[\]{}]", "", it)) for it in (shape, updated))
        if not model or not changed:
            return False
        return any(is_required(line) and field not in model["fields"] or self.asks_for_more(model["fields"].get(field, "any").split()[0], line.split()[0])
                   for field, line in changed["fields"].items())

    def identity(self, calls, model, fields, shown):
        """How a resource is named in paths, by other programs and by people."""
        kind, last = {}, calls["get"].in_path[-1]
        given = next((it for it in (last, "name") if it in fields), None) if last.endswith("Name") else None
        if given:
            kind["address"] = given
            # What stands in paths is what the resource keeps.
            fields[given] = fields[given].replace(" update", "")
        if "id" not in shown:
            own = next((it for it in (given, last, "key") if it and it in shown), None)
            if not own:
                raise NotDerivable("it has no id")
            kind["idField"] = own
        names = [it for it, line in fields.items() if line.startswith("string") and it not in calls["create"].in_path]
        name = next((it for it in ("displayName", "name", given) if it in names), None)
        name = name or next((it for it in names if it.lower().endswith("name")), "compartmentId" if "compartmentId" in names else None)
        if not name:
            raise NotDerivable("it has no name")
        return kind | {"nameField": name}

    def listing(self, call, kind, model, fields):
        scope = call.in_path + call.required_query
        if set(scope) - set(fields):
            raise NotDerivable("its listing needs " + ", ".join(sorted(set(scope) - set(fields))))
        if not call.required_query and "compartmentId" in call.query_names and "compartmentId" in fields:
            scope.append("compartmentId")
        if not scope or any(not re.match(r"string|\(", fields[it]) for it in scope):
            raise NotDerivable("its listing has no parameter that a spec sets")
        listed = {"scope": [scope]}
        response = call.response or ""
        entry = found(r"^list\[(\w+)\]$", response)
        if entry:
            listed["bareList"] = True
        else:
            collection = self.models.get(response)
            entry = found(r"^list\[(\w+)\]$", collection.types.get("items", "")) if collection else None
        summary = self.models.get(entry)
        if summary is None:
            raise NotDerivable("the SDK names no type of its listing's entries")
        if kind.get("address", kind.get("idField", "id")) not in summary.names.values():
            raise NotDerivable("its listing shows no id")
        hidden = set(model.names.values()) - set(summary.names.values())
        if hidden := sorted(hidden.union(self.review["not listed"].get(f"{self.name}/{kind['name']}", []))):
            listed["notListed"] = hidden
        whole, more = self.fields(model, [model.name]), self.fields(summary, [entry])
        more = {field: line for field, line in more.items() if is_required(line) and not is_required(whole.get(field, ""))
                or field in whole and line.split()[0] not in (whole[field].split()[0], "string")}
        if more:
            listed["listed"] = more
        return listed

    def operation_types(self, stem):
        """The operation types of work requests that name the kind; where they name no kind at all, all of them."""
        verbs = {"CREATE": "create", "UPDATE": "update", "DELETE": "delete", "MOVE": "update"}
        values = sorted({value for name in self.models.paths if "WorkRequest" in name
                         for value in self.models.allowed(self.models[name], "operation_type")})
        plain = stem.replace("_", "").upper()
        types, similar = {}, {}
        for value in values:
            written = value.replace("_", "")
            if written in (f"CHANGE{plain}COMPARTMENT", f"{plain}CHANGECOMPARTMENT"):
                types[value] = "update"
            for verb, phase in verbs.items():
                if verb not in (written[:len(verb)], written[-len(verb):]):
                    continue
                rest = written.replace(verb, "", 1)
                if rest == plain:
                    types[value] = phase
                elif len(rest) > 3 and (rest.endswith(plain) or plain.endswith(rest)):
                    similar.setdefault(verb, []).append(value)
        similar = {named[0]: verbs[verb] for verb, named in similar.items() if len(named) == 1}
        return types or similar or {value: verbs[value] for value in values if value in verbs}


def either(line, other):
    """A field that is one thing in one type and another in another."""
    (shape, *words), (less, *_) = line.split(), other.split()
    if shape == less:
        return line
    values = [it.strip("()").split("|") for it in (shape, less) if it.endswith(")")]
    if len(values) == 2:
        shape = "(" + "|".join(dict.fromkeys(values[0] + values[1])) + ")"
    else:
        shape = "string" if {shape, less} <= {"string", *(it for it in (shape, less) if it.endswith(")"))} else "any"
    return " ".join([shape, *words])


def is_required(line):
    return "required" in line.split()


def host(endpoint):
    text = endpoint.removeprefix("https://").replace("{secondLevelDomain}", "{domain}")
    return re.sub(r"\{dualStack\?[^:}]*:([^}]*)\}", r"\1", text)


def write(path, service):
    """One field or call to a line, so that a change of the SDK is a short diff."""
    lines = json.dumps(service, indent=1, ensure_ascii=False)
    lines = re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda it: "[" + re.sub(r"\s*\n\s*", " ", it[1]) + "]", lines)
    path.write_text(lines + "\n")


def main(sdk, review, out):
    review, out = json.loads(Path(review).read_text()), Path(out)
    refused, count = {}, 0
    for folder in sorted(Path(sdk).iterdir()):
        name = folder.name.replace("_", "")
        if not (folder / "models").is_dir() or name in review["written by hand"]:
            continue
        service, why = Service(folder, review).describe()
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
