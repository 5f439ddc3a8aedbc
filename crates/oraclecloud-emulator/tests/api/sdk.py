"""Tests the emulator with Oracle's own SDK.

Takes one JSON argument, prints the name of each part that works, and exits with an error at the first that does not.
"""

import json
import os
import sys

import oci
from oci.queue import QueueAdminClient, QueueAdminClientCompositeOperations
from oci.queue import models as queue
from oci.streaming import StreamAdminClient
from oci.streaming import models as streaming

settings = json.loads(sys.argv[1])
compartment = settings["compartment"]
# One attempt per call, so that errors are not retried.
once = {"service_endpoint": settings["url"], "retry_strategy": oci.retry.NoneRetryStrategy()}
soon = {"max_interval_seconds": 1}


def rejected(status, code, call, *arguments, **named):
    """Checks that the call fails with this status and code, and with a request id."""
    try:
        call(*arguments, **named)
    except oci.exceptions.ServiceError as error:
        assert (error.status, error.code) == (status, code), error
        assert error.request_id, error
        assert error.message, error
    else:
        raise AssertionError(f"{call.__name__} was not rejected with {status} {code}")


def until(client, response, name, value):
    return oci.wait_until(client, response, name, value, max_interval_seconds=1)


def queues(client):
    details = queue.CreateQueueDetails(
        display_name="orders",
        compartment_id=compartment,
        visibility_in_seconds=45,
        freeform_tags={"team": "checkout"},
        defined_tags={"ops": {"tier": "1"}},
    )
    created = client.create_queue(details, opc_retry_token="token-1")
    assert created.status == 202 and created.data is None
    work = created.headers["opc-work-request-id"]
    again = client.create_queue(details, opc_retry_token="token-1")
    assert again.headers["opc-work-request-id"] == work, "a create with the same token happens once"
    details.display_name = "other"
    rejected(409, "InvalidatedRetryToken", client.create_queue, details, opc_retry_token="token-1")

    polled = client.get_work_request(work)
    assert polled.headers["retry-after"] == "1"
    assert polled.data.operation_type == "CREATE_QUEUE"
    assert polled.data.resources[0].action_type == "IN_PROGRESS"
    finished = until(client, polled, "status", "SUCCEEDED").data
    assert finished.percent_complete == 100.0 and finished.time_finished >= finished.time_accepted
    resource = finished.resources[0]
    assert (resource.entity_type.lower(), resource.action_type) == ("queue", "CREATED")
    logs = client.list_work_request_logs(work).data.items
    assert logs and logs[0].message and logs[0].timestamp
    assert client.list_work_request_errors(work).data.items == []
    assert work in [it.id for it in client.list_work_requests(compartment_id=compartment).data.items]

    shown = client.get_queue(resource.identifier)
    assert shown.headers["etag"]
    assert shown.data.lifecycle_state == "ACTIVE" and shown.data.messages_endpoint.startswith("https://")
    assert (shown.data.visibility_in_seconds, shown.data.retention_in_seconds) == (45, 86400)
    assert shown.data.freeform_tags["team"] == "checkout" and shown.data.defined_tags["ops"]["tier"] == "1"

    change = queue.UpdateQueueDetails(visibility_in_seconds=0)
    rejected(412, "NoEtagMatch", client.update_queue, shown.data.id, change, if_match="another")
    client.update_queue(shown.data.id, change, if_match=shown.headers["etag"])
    rejected(409, "IncorrectState", client.update_queue, shown.data.id, change)
    changed = until(client, client.get_queue(shown.data.id), "lifecycle_state", "ACTIVE")
    assert changed.data.visibility_in_seconds == 0
    assert changed.headers["etag"] != shown.headers["etag"]

    whole = QueueAdminClientCompositeOperations(client)
    for name in ["first", "second"]:
        more = queue.CreateQueueDetails(display_name=name, compartment_id=compartment)
        done = whole.create_queue_and_wait_for_state(more, wait_for_states=["SUCCEEDED"], waiter_kwargs=soon)
        assert done.data.status == "SUCCEEDED"
    first = client.list_queues(compartment_id=compartment)
    assert len(first.data.items) == 1 and first.has_next_page, "the page size is 1"
    listed = oci.pagination.list_call_get_all_results(client.list_queues, compartment_id=compartment).data
    assert sorted(it.display_name for it in listed) == ["first", "orders", "second"]
    named = client.list_queues(compartment_id=compartment, display_name="first", lifecycle_state="ACTIVE")
    assert [it.display_name for it in named.data.items] == ["first"]

    rejected(404, "NotAuthorizedOrNotFound", client.get_queue, "ocid1.queue.oc1.phx.unknown")
    rejected(404, "NotAuthorizedOrNotFound", client.get_work_request, "ocid1.queueworkrequest.oc1.phx.unknown")
    rejected(400, "MissingParameter", client.create_queue, queue.CreateQueueDetails(compartment_id=compartment))

    gone = whole.delete_queue_and_wait_for_state(shown.data.id, wait_for_states=["SUCCEEDED"], waiter_kwargs=soon)
    assert gone.data is oci.util.Sentinel or gone.data.operation_type == "DELETE_QUEUE"
    print("queues")


def streams(client):
    details = streaming.CreateStreamDetails(name="clicks", partitions=2, compartment_id=compartment)
    created = client.create_stream(details)
    assert created.status == 200 and created.data.lifecycle_state == "CREATING" and created.headers["etag"]
    shown = until(client, client.get_stream(created.data.id), "lifecycle_state", "ACTIVE")
    assert (shown.data.partitions, shown.data.retention_in_hours) == (2, 24)
    change = streaming.UpdateStreamDetails(freeform_tags={"team": "web"})
    rejected(412, "NoEtagMatch", client.update_stream, shown.data.id, change, if_match="another")
    client.update_stream(shown.data.id, change, if_match=shown.headers["etag"])
    until(client, client.get_stream(shown.data.id), "lifecycle_state", "ACTIVE")
    listed = oci.pagination.list_call_get_all_results(client.list_streams, compartment_id=compartment).data
    assert [it.name for it in listed] == ["clicks"]
    rejected(400, "InvalidParameter", client.list_streams)
    client.delete_stream(shown.data.id)
    until(client, client.get_stream(shown.data.id), "lifecycle_state", "DELETED")
    print("streams")


def has_access(signer, name):
    """Checks that the signer has access."""
    client = QueueAdminClient(config={"region": "us-phoenix-1"}, signer=signer, **once)
    client.list_queues(compartment_id=compartment)
    print(name)


config = oci.config.from_file(settings["configFile"])
oci.config.validate_config(config)
queues(QueueAdminClient(config, **once))
streams(StreamAdminClient(config, **once))

session = oci.config.from_file(settings["sessionFile"], "SESSION")
with open(session["security_token_file"]) as file:
    key = oci.signer.load_private_key_from_file(session["key_file"])
    has_access(oci.auth.signers.SecurityTokenSigner(file.read(), key), "session token")

os.environ["OCI_METADATA_BASE_URL"] = settings["metadata"]
signers = oci.auth.signers
has_access(signers.InstancePrincipalsSecurityTokenSigner(federation_endpoint=settings["url"] + "/v1/x509"), "instance")


class Account:
    def get_sa_token(self):
        return "account-1"


pod = signers.OkeWorkloadIdentityResourcePrincipalSigner(
    Account(), settings["authority"], settings["clusterHost"], "12250", "us-phoenix-1"
)
has_access(pod, "workload")

unknown = dict(config, tenancy="ocid1.tenancy.oc1..t", fingerprint=settings["unknownFingerprint"])
rejected(401, "NotAuthenticated", QueueAdminClient(unknown, **once).list_queues, compartment_id=compartment)
print("unknown key")
