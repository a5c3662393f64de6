"""A client of the controller's API that shares no code with it: Debian's Python and gRPC, and
messages made from proto/ by protoc.

    foreign_client.py STUBS ADDRESS CA IDENTITY CALL...

STUBS is where protoc wrote its modules, CA a PEM file, IDENTITY one with a key and a certificate, or
"-" for none. Each CALL is a name from CALLS, with arguments after colons. Prints a line for each:
the status, a tab, then the answer in words or the error's text.
"""

import importlib
import sys

import grpc

DEADLINE_SECONDS = 20


class Client:
    def __init__(self, stubs, address, ca, identity):
        # Our package for health lies below one named grpc, as the library does.
        grpc.__path__.append(stubs + "/grpc")
        sys.path.insert(0, stubs)
        self.api = importlib.import_module("holdfast.v1.api_pb2")
        self.identity = importlib.import_module("holdfast.v1.identity_pb2")
        self.node = importlib.import_module("holdfast.v1.node_pb2")
        self.resource = importlib.import_module("holdfast.v1.resource_pb2")
        self.health = importlib.import_module("grpc.health.v1.health_pb2")
        self.reflection = importlib.import_module("grpc.reflection.v1alpha.reflection_pb2")
        own = None if identity == "-" else read(identity)
        credentials = grpc.ssl_channel_credentials(read(ca), own, own)
        self.channel = grpc.secure_channel(
            address, credentials, options=[("grpc.enable_http_proxy", 0)])

    def unary(self, method, request, response):
        call = self.channel.unary_unary(
            method, type(request).SerializeToString, response.FromString)
        return call(request, timeout=DEADLINE_SECONDS)

    def stream(self, method, request, response):
        call = self.channel.unary_stream(
            method, type(request).SerializeToString, response.FromString)
        return call(request, timeout=DEADLINE_SECONDS)

    def whoami(self):
        me = self.unary("/holdfast.v1.Identity/WhoAmI", self.identity.WhoAmIRequest(),
                        self.identity.WhoAmIResponse)
        return f"{me.role}/{me.name} of {me.cluster}"

    def check(self):
        answer = self.unary("/grpc.health.v1.Health/Check", self.health.HealthCheckRequest(),
                            self.health.HealthCheckResponse)
        return self.serving(answer)

    def watch_health(self):
        answers = self.stream("/grpc.health.v1.Health/Watch", self.health.HealthCheckRequest(),
                              self.health.HealthCheckResponse)
        return self.serving(next(answers))

    def serving(self, answer):
        return self.health.HealthCheckResponse.ServingStatus.Name(answer.status)

    def service_config(self):
        answer = self.unary("/holdfast.v1.ServiceConfigDiscovery/GetServiceConfig",
                            self.node.GetServiceConfigRequest(),
                            self.node.GetServiceConfigResponse)
        first = answer.config.load_balancing_config[0]
        watched = answer.config.health_check_config.HasField("service_name")
        return f"{first.WhichOneof('config')} {first.pick_healthy.mode} health={watched}"

    def list(self, kind, page_size="0"):
        pages, token = [], ""
        while not pages or token:
            page = self.unary(
                "/holdfast.v1.Resources/List",
                self.api.ListRequest(kind=kind, page_size=int(page_size), page_token=token),
                self.api.ListResponse)
            pages.append(",".join(each.metadata.name for each in page.resources))
            token = page.next_page_token
        return " | ".join(pages)

    def get(self, kind, name):
        found = self.unary("/holdfast.v1.Resources/Get",
                           self.api.GetRequest(kind=kind, name=name), self.resource.Resource)
        return found.metadata.name

    def create(self, kind, name):
        wanted = self.resource.Resource(kind=kind)
        wanted.metadata.name = name
        getattr(wanted, kind).SetInParent()
        self.unary("/holdfast.v1.Resources/Create", self.api.WriteRequest(resource=wanted),
                   self.resource.Resource)
        return f"created {name}"

    def watch(self, kind, after="", count="0"):
        """Changes after the one that made the resource named `after`, `count` of them."""
        request = self.api.WatchRequest(kinds=[self.api.WatchKind(kind=kind)])
        if after:
            found = self.unary("/holdfast.v1.Resources/Get",
                               self.api.GetRequest(kind=kind, name=after), self.resource.Resource)
            request.after_revision = found.metadata.revision
        seen, stream = [], self.stream("/holdfast.v1.Events/Watch", request,
                                       self.api.WatchResponse)
        for response in stream:
            seen += [self.event(each) for each in response.events]
            if len(seen) > int(count):
                break
        stream.cancel()
        return " ".join(seen)

    def event(self, event):
        if event.type == self.api.EVENT_TYPE_INIT:
            return "init(" + ",".join(kind.kind for kind in event.status.kinds) + ")"
        sign = "+" if event.type == self.api.EVENT_TYPE_PUT else "-"
        return sign + event.resource.metadata.name

    def reflect(self):
        messages = self.reflection
        call = self.channel.stream_stream(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
            messages.ServerReflectionRequest.SerializeToString,
            messages.ServerReflectionResponse.FromString)
        asked = iter([messages.ServerReflectionRequest(list_services="")])
        answers = call(asked, timeout=DEADLINE_SECONDS)
        return " ".join(sorted(
            each.name for answer in answers for each in answer.list_services_response.service))

    def announce(self, kind, name):
        wanted = self.resource.Resource(kind=kind)
        wanted.metadata.name = name
        getattr(wanted, kind).SetInParent()
        self.unary("/holdfast.v1.Presence/Announce", self.node.AnnounceRequest(resource=wanted),
                   self.node.AnnounceResponse)
        return f"announced {name}"


CALLS = {
    "whoami": Client.whoami,
    "check": Client.check,
    "watch-health": Client.watch_health,
    "service-config": Client.service_config,
    "list": Client.list,
    "get": Client.get,
    "create": Client.create,
    "watch": Client.watch,
    "reflect": Client.reflect,
    "announce": Client.announce,
}


def read(path):
    with open(path, "rb") as file:
        return file.read()


def main(stubs, address, ca, identity, *calls):
    client = Client(stubs, address, ca, identity)
    for call in calls:
        name, *arguments = call.split(":")
        try:
            print(f"OK\t{CALLS[name](client, *arguments)}")
        except grpc.RpcError as error:
            print(f"{error.code().name}\t{error.details()}")


main(*sys.argv[1:])
