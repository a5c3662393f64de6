#include "resource/validation.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "resource/codec.h"
#include "resource/registry.h"
#include "resource/text_rules.h"

namespace holdfast::resource {
namespace {

using testing::HasSubstr;

// What validate() says of the one resource in `yaml`; "" if it is valid.
std::string verdict(std::string_view yaml) {
  const auto resources = parse_documents(yaml);
  if (!resources.ok())
    return std::string("unreadable: ") + std::string(resources.status().message());
  const Status status = validate(resources->front());
  EXPECT_TRUE(status.ok() || status.code() == absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

std::string verdict_on_spec(std::string_view kind, std::string_view spec) {
  const auto found = find_kind(kind);
  const std::string_view singleton = info(*found).singleton_name;
  return verdict(fmt::format("kind: {}\nmetadata: {{name: {}}}\nspec: {}", kind,
                             singleton.empty() ? "x" : singleton, spec));
}

std::string verdict_on_name(std::string_view name) {
  return std::string(validate(make_resource(Kind::User, name)).message());
}

struct Case {
  const char* kind;
  const char* spec;
  const char* expected;
};

TEST(Validation, AcceptsAGoodResourceOfEachKind) {
  for (const Case& good : std::initializer_list<Case>{
           {"controller", "{address: 10.0.0.1:3025, zone: a, started: 2026-11-15T00:00:00Z}", ""},
           {"proxy", "{public_address: 'edge.example:3080', peer_address: '[fd00::1]:3021'}", ""},
           {"agent", "{services: [{service: web}, {service: db}], proxies: [edge-1]}", ""},
           {"service", "{ports: [{port: 53, protocol: udp}, {port: 53, protocol: tcp}]}", ""},
           {"service",
            "{ports: [{port: 80, protocol: tcp}], virtual_ip: 10.96.0.1, endpoints: "
            "[{address: '127.0.0.1:8080', zone: a}, {address: '127.0.0.2:8080', weight: 3}]}",
            ""},
           {"token", "{role: agent, zone: a, uses_left: 1}", ""},
           {"role", "{rules: [{kinds: ['*', service], verbs: [get, connect]}]}", ""},
           {"user", "{roles: [admin]}", ""},
           {"networking_config", "{keepalive_interval: 10s, keepalive_misses: 3}", ""},
           {"networking_config", "{keepalive_interval: 1h}", ""},
           {"networking_config", "{reconnect_interval: 10s}", ""},
           {"zone_map", "{zones: [{name: a, id: 1}, {name: b, id: 254}]}", ""},
           {"capacity_lease", "{service: web, zone: a, holder: edge-1}", ""},
           {"cert_authority", "{phase: none}", ""}}) {
    EXPECT_EQ(verdict_on_spec(good.kind, good.spec), "") << good.kind;
  }
}

TEST(Validation, ANodeTrustsAFewPins) {
  v1::Resource agent = make_resource(Kind::Agent, "e1");
  v1::Announcement& announcement = *agent.mutable_agent()->mutable_announcement();
  const std::string pin = "sha256:" + std::string(64, 'f');
  announcement.set_issuer_pin(pin);
  for (int i = 0; i < 16; ++i) announcement.add_trusted_pins(pin);
  EXPECT_TRUE(validate(agent).ok()) << validate(agent);

  announcement.add_trusted_pins(pin);

  EXPECT_THAT(std::string(validate(agent).message()), HasSubstr("17 are too many"));
}

TEST(Validation, NamesTheFieldTheReasonAndWhatIsRight) {
  EXPECT_EQ(verdict_on_name("a/b"),
            "metadata.name: \"a/b\" holds '/' at byte 1; use letters, digits, '-', '_' and '.'");
  EXPECT_EQ(verdict_on_spec("service", "{ports: [{port: 70000, protocol: tcp}]}"),
            "spec.ports[0].port: 70000 is not a port; use 1 to 65535");
}

TEST(Validation, RefusesNamesThatCouldNotBeKeysOrFiles) {
  const std::string longest(kMaxNameBytes, 'a');

  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("a/b"), std::string("-a"),
        std::string("a."), std::string("a b"), std::string("a\0b", 3), std::string("caf\xc3\xa9"),
        std::string("\xff"), std::string("a\n"), longest + "a"}) {
    EXPECT_THAT(verdict_on_name(name), testing::StartsWith("metadata.name: ")) << name;
  }
  for (const std::string& name : {std::string("a"), std::string("Web_1.x-2"), longest}) {
    EXPECT_EQ(verdict_on_name(name), "") << name;
  }
}

TEST(Validation, EachRuleOfABodyIsHeld) {
  for (const Case& bad : std::initializer_list<Case>{
           {"controller", "{address: nowhere}", "spec.address: \"nowhere\" has no port"},
           {"controller", "{zone: a/b}", "spec.zone: "},
           {"proxy", "{public_address: '1.2.3.999:80'}", "spec.public_address: "},
           {"proxy", "{tunnel_address: 'fd00::1:80'}", "spec.tunnel_address: "},
           {"proxy", "{peer_address: 'a:0'}", "not 1 to 65535"},
           {"proxy", "{announce_ttl: 0s}", "spec.announce_ttl: 0s is out of range"},
           {"proxy", "{announce_ttl: -5s}", "spec.announce_ttl: -5s is out of range"},
           {"proxy", "{announce_ttl: 8761h}", "spec.announce_ttl: 8761h is out of range"},
           {"agent", "{services: [{healthy: true}]}", "spec.services[0].service: is empty"},
           {"agent", "{services: [{service: a}, {service: a}]}",
            "services[1].service: \"a\" is li"},
           {"agent", "{proxies: [a, a]}", "spec.proxies[1]: \"a\" is listed twice"},
           {"agent", "{announcement: {issuer_pin: 'md5:1'}}", "spec.announcement.issuer_pin: "},
           {"proxy", "{announcement: {ttl: 0s}}", "spec.announcement.ttl: 0s is out of range"},
           {"controller", "{announcement: {trusted_pins: ['sha256:AB']}}",
            "spec.announcement.trusted_pins[0]: \"sha256:AB\" is not a pin"},
           {"service", "{ports: [{protocol: tcp}]}", "spec.ports[0].port: 0 is not a port"},
           {"service", "{ports: [{port: 80}]}", "spec.ports[0].protocol: is not given; use tcp"},
           {"service", "{ports: [{port: 80, protocol: 99}]}", "99 is not a value this version"},
           {"service", "{ports: [{port: 80, protocol: tcp}, {port: 80, protocol: http}]}",
            "spec.ports[1].port: 80 is taken"},
           {"service",
            "{ports: [{name: a, port: 80, protocol: tcp}, {name: a, port: 81, protocol: tcp}]}",
            "spec.ports[1].name: \"a\" is taken"},
           {"service", "{zone_capacity: {a/b: 1}}", "spec.zone_capacity: \"a/b\" holds"},
           {"service", "{virtual_ip: example.com}",
            "spec.virtual_ip: \"example.com\" is not an IP"},
           {"service", "{agent_selector: {'a b': c}}", "spec.agent_selector: has the key"},
           {"token", "{zone: a}", "spec.role: is not given"},
           {"token", "{role: agent, hash: aGVsbG8=}", "spec.hash: is 5 bytes long"},
           {"token", "{role: agent, node_name: a/b}", "spec.node_name: "},
           {"role", "{rules: [{verbs: [get]}]}", "spec.rules[0].kinds: is empty"},
           {"role", "{rules: [{kinds: [services], verbs: [get]}]}", "write \"service\""},
           {"role", "{rules: [{kinds: [servise], verbs: [get]}]}", "did you mean \"service\""},
           {"role", "{rules: [{kinds: [role]}]}", "spec.rules[0].verbs: is empty"},
           {"role", "{rules: [{kinds: [role], verbs: [unspecified]}]}", "verbs[0]: is not given"},
           {"user", "{roles: ['']}", "spec.roles[0]: is empty"},
           {"networking_config", "{keepalive_interval: 5ms}", "is too short"},
           {"networking_config", "{keepalive_interval: 3601s}", "is too long; use 1h or less"},
           {"networking_config", "{reconnect_interval: 9s}", "reconnect_interval: is too short"},
           {"networking_config", "{agent_connection_count: 5000}", "5000 is too many"},
           {"networking_config", "{keepalive_misses: 5000}", "5000 is too many"},
           {"zone_map", "{zones: [{name: a}]}", "spec.zones[0].id: 0 is not a zone id"},
           {"zone_map", "{zones: [{name: a, id: 255}]}", "spec.zones[0].id: 255 is not a zone id"},
           {"zone_map", "{zones: [{name: a, id: 1}, {name: b, id: 1}]}", "zones[1].id: 1 is taken"},
           {"zone_map", "{zones: [{name: a, id: 1}, {name: a, id: 2}]}", "zones[1].name: \"a\" is"},
           {"capacity_lease", "{service: web, zone: a}", "spec.holder: is empty"},
           {"cert_authority", "{}", "spec.phase: is not given"},
           {"cert_authority", "{phase: dual, keys: [{certificate_pem: AAAA}]}", "is not PEM"}}) {
    EXPECT_THAT(verdict_on_spec(bad.kind, bad.spec), HasSubstr(bad.expected)) << bad.spec;
  }
}

std::string verdict_on_endpoints(std::string_view endpoints,
                                 std::string_view virtual_ip = "10.96.0.1") {
  return verdict_on_spec(
      "service",
      fmt::format("{{ports: [{{name: web, port: 80, protocol: http}}, {{port: 53, protocol: tcp}}, "
                  "{{name: dns, port: 53, protocol: udp}}], virtual_ip: '{}', endpoints: {}}}",
                  virtual_ip, endpoints));
}

TEST(Validation, EachRuleOfEndpointsIsHeld) {
  EXPECT_EQ(verdict_on_endpoints("[{address: '10.1.0.1:1', port: dns, zone: a, weight: 10000}]"),
            "");
  EXPECT_EQ(verdict_on_endpoints("[{address: '[fd00::1]:1', port: 80}]", "fd00::9"), "");
  EXPECT_THAT(verdict_on_endpoints("[{address: '10.1.0.1:1'}]", ""),
              HasSubstr("spec.endpoints: stand behind spec.virtual_ip, which is not given"));
  EXPECT_THAT(verdict_on_endpoints("[{zone: a}]"), HasSubstr("spec.endpoints[0].address: "));
  EXPECT_THAT(verdict_on_endpoints("[{address: 'host:1'}]"),
              HasSubstr("\"host:1\" begins with a name; use an IP address"));
  EXPECT_THAT(verdict_on_endpoints("[{address: '[fd00::1]:1'}]"),
              HasSubstr("are not both IPv4 or both IPv6"));
  EXPECT_THAT(verdict_on_endpoints("[{address: '10.1.0.1:1', zone: a/b}]"),
              HasSubstr("spec.endpoints[0].zone: "));
  EXPECT_THAT(verdict_on_endpoints("[{address: '10.1.0.1:1', port: 81}]"),
              HasSubstr("spec.endpoints[0].port: \"81\" is not the name or number"));
  EXPECT_THAT(verdict_on_endpoints("[{address: '10.1.0.1:1', weight: 10001}]"),
              HasSubstr("spec.endpoints[0].weight: 10001 is too much; use 1 to 10000"));
  EXPECT_THAT(verdict_on_endpoints("[{address: '10.1.0.1:1'}, {address: '10.1.0.1:1', zone: b}]"),
              HasSubstr("spec.endpoints[1].address: \"10.1.0.1:1\" is listed twice"));
}

// TCP's and UDP's port 53 are two; a number alone does not say which.
TEST(Validation, ANumberOfTwoPortsIsNoneOfThem) {
  EXPECT_THAT(verdict_on_endpoints("[{address: '10.1.0.1:1', port: 53}]"),
              HasSubstr("spec.endpoints[0].port: \"53\" is not the name or number of one"));
}

TEST(Validation, EndpointsAreAsManyAsTheKernelTakes) {
  const auto endpoints = [](int count, auto&& zone_of) {
    std::string list;
    for (int i = 0; i < count; ++i) {
      list += fmt::format("{{address: '10.1.{}.{}:1', zone: '{}'}}, ", i / 250, i % 250 + 1,
                          zone_of(i));
    }
    return "[" + list + "]";
  };
  const auto one = [](int) { return std::string("a"); };
  const auto each = [](int i) { return fmt::format("z{}", i); };

  EXPECT_EQ(verdict_on_endpoints(endpoints(64, one)), "");
  EXPECT_THAT(verdict_on_endpoints(endpoints(65, one)),
              HasSubstr("spec.endpoints[64]: is one of more than 64 in zone \"a\""));
  EXPECT_EQ(verdict_on_endpoints(endpoints(16, each)), "");
  EXPECT_THAT(verdict_on_endpoints(endpoints(17, each)),
              HasSubstr("spec.endpoints[16].zone: \"z16\" is one of more than 16 zones"));
}

TEST(Validation, HoldsTheLimitsOfMetadata) {
  v1::Resource user = make_resource(Kind::User, "u");
  auto& labels = *user.mutable_metadata()->mutable_labels();

  labels["a b"] = "";
  EXPECT_THAT(validate(user).ToString(), HasSubstr("metadata.labels: has the key \"a b\""));
  labels.clear();
  labels["a"] = std::string(257, 'x');
  EXPECT_THAT(validate(user).ToString(), HasSubstr("metadata.labels.a: is 257 bytes long"));
  labels["a"] = "x\x1b[31m";
  EXPECT_THAT(validate(user).ToString(), HasSubstr("metadata.labels.a: "));
  labels.clear();
  for (int i = 0; i < 65; ++i) labels[fmt::format("k{}", i)] = "v";
  EXPECT_THAT(validate(user).ToString(), HasSubstr("holds 65 labels; use at most 64"));
  labels.clear();
  user.mutable_metadata()->set_description(std::string(1025, 'x'));
  EXPECT_THAT(validate(user).ToString(), HasSubstr("metadata.description: is 1025 bytes long"));
}

TEST(Validation, KindAndBodyMustAgree) {
  v1::Resource resource = make_resource(Kind::User, "u");

  resource.set_kind("role");
  EXPECT_THAT(validate(resource).ToString(), HasSubstr("kind: \"role\" does not agree"));
  resource.clear_body();
  EXPECT_THAT(validate(resource).ToString(), HasSubstr("spec: is missing"));
  resource.set_kind("gateway");
  EXPECT_THAT(validate(resource).ToString(), HasSubstr("kind: \"gateway\" is not a kind"));
  EXPECT_FALSE(validate(v1::Resource()).ok());
}

TEST(Validation, ASingletonHasOneName) {
  EXPECT_THAT(validate(make_resource(Kind::ZoneMap, "other")).ToString(),
              HasSubstr("metadata.name: \"other\" is not \"default\", the only zone_map there is"));
}

TEST(Validation, RefusesTextThatIsNotTextWhereverItStands) {
  v1::Resource agent = make_resource(Kind::Agent, "a");
  auto* service = agent.mutable_agent()->add_services();
  service->set_service("web");

  service->set_reason("\xc3\x28");
  EXPECT_THAT(validate(agent).ToString(), HasSubstr("spec.services[0].reason: is not UTF-8"));
  service->set_reason(std::string("a\0b", 3));
  EXPECT_THAT(validate(agent).ToString(), HasSubstr("spec.services[0].reason: holds a NUL"));
  service->set_reason(std::string(kMaxTextBytes + 1, 'x'));
  EXPECT_THAT(validate(agent).ToString(), HasSubstr("spec.services[0].reason: is 4097 bytes"));
}

TEST(Validation, RefusesTimesAndDurationsThatDoNotExist) {
  v1::Resource proxy = make_resource(Kind::Proxy, "p");

  proxy.mutable_proxy()->mutable_started()->set_nanos(1'000'000'000);
  EXPECT_THAT(validate(proxy).ToString(), HasSubstr("spec.started: "));
  proxy.mutable_proxy()->clear_started();
  proxy.mutable_proxy()->mutable_announce_ttl()->set_seconds(INT64_MAX);
  EXPECT_THAT(validate(proxy).ToString(), HasSubstr("is not a duration"));
  proxy.mutable_proxy()->mutable_announce_ttl()->set_seconds(5);
  proxy.mutable_proxy()->mutable_announce_ttl()->set_nanos(-1);
  EXPECT_THAT(validate(proxy).ToString(), HasSubstr("is not a duration"));
  proxy.mutable_proxy()->mutable_announce_ttl()->set_seconds(315'576'000'000);
  proxy.mutable_proxy()->mutable_announce_ttl()->set_nanos(0);
  EXPECT_THAT(validate(proxy).ToString(), HasSubstr("is out of range"));
}

TEST(Validation, BoundsTheWholeAndItsParts) {
  v1::Resource agent = make_resource(Kind::Agent, "a");
  for (int i = 0; i < 4097; ++i) agent.mutable_agent()->add_proxies(fmt::format("p{}", i));
  EXPECT_THAT(validate(agent).ToString(), HasSubstr("spec.proxies: has 4097 elements"));

  v1::Resource authority = make_resource(Kind::CertAuthority, "main");
  authority.mutable_cert_authority()->add_keys()->set_certificate_pem(
      std::string(kMaxResourceBytes, 'x'));
  EXPECT_THAT(validate(authority).ToString(), HasSubstr("use at most 1048576"));
}

TEST(Validation, BoundsWhatANodeSaysOfItsCache) {
  v1::Resource proxy = make_resource(Kind::Proxy, "p");
  v1::CachedKind& row = *proxy.mutable_proxy()->add_caches();
  row.set_kind("a_kind_of_a_newer_node");
  row.set_source("upstream");
  row.set_reason(std::string(512, 'x'));
  EXPECT_TRUE(validate(proxy).ok()) << validate(proxy);

  row.set_reason(std::string(513, 'x'));
  EXPECT_THAT(validate(proxy).ToString(), HasSubstr("spec.caches[0].reason: is 513 bytes"));
  row.clear_reason();
  row.set_source(std::string(17, 'x'));
  EXPECT_THAT(validate(proxy).ToString(), HasSubstr("spec.caches[0].source: is 17 bytes"));
  row.clear_source();
  *proxy.mutable_proxy()->add_caches() = row;
  EXPECT_THAT(validate(proxy).ToString(), HasSubstr("spec.caches[1].kind: "));

  v1::Resource agent = make_resource(Kind::Agent, "a");
  for (int i = 0; i < 65; ++i) agent.mutable_agent()->add_caches()->set_kind(fmt::format("k{}", i));
  EXPECT_THAT(validate(agent).ToString(), HasSubstr("spec.caches: 65 are too many"));
}

TEST(Validation, NeverShowsASecret) {
  v1::Resource token = make_resource(Kind::Token, "t");
  token.mutable_token()->set_role(v1::NODE_ROLE_AGENT);
  token.mutable_token()->set_hash("swordfish");
  v1::Resource user = make_resource(Kind::User, "u");
  user.mutable_user()->set_password_hash(std::string("swordfish\0", 10));

  EXPECT_THAT(validate(token).ToString(), testing::Not(HasSubstr("swordfish")));
  EXPECT_THAT(validate(user).ToString(), testing::Not(HasSubstr("swordfish")));
  EXPECT_FALSE(validate(user).ok());
}

TEST(TextRules, AddressesAreAHostAndAPort) {
  for (const char* good : {"a:1", "edge-1.example.com:65535", "10.0.0.1:80", "[::1]:80",
                           "[fd00::1.2.3.4]:80", "a.b.:80", "xn--caf-dma.example:80"}) {
    EXPECT_EQ(wrong_address(good), std::nullopt) << good;
  }
  for (const char* bad : {"",
                          ":",
                          "a",
                          "a:",
                          ":80",
                          "a:0",
                          "a:65536",
                          "a:+1",
                          "a:080",
                          "a:80 ",
                          "1.2.3:80",
                          "1.2.3.4.5:80",
                          "::1:80",
                          "[::1]",
                          "[::1]80",
                          "[1.2.3.4]:80",
                          "[fe80::1%eth0]:80",
                          "-a:80",
                          "a..b:80",
                          "a b:80",
                          "http://a:80",
                          "[]:80"}) {
    EXPECT_NE(wrong_address(bad), std::nullopt) << bad;
  }
  EXPECT_NE(wrong_address(std::string(300, 'a') + ":80"), std::nullopt);
}

TEST(TextRules, AnIpIsALiteralWithoutBrackets) {
  for (const char* good : {"10.96.0.10", "::", "fd00::a", "::ffff:1.2.3.4"}) {
    EXPECT_EQ(wrong_ip(good), std::nullopt) << good;
  }
  for (const char* bad : {"", "10.96.0", "010.1.1.1", "[::1]", "1.2.3.4/24", "fd00::g", "a"}) {
    EXPECT_NE(wrong_ip(bad), std::nullopt) << bad;
  }
}

TEST(Validation, ARoundTripMayBeShorterThanAnyWait) {
  v1::Resource agent = make_resource(Kind::Agent, "edge-1");
  v1::AgentTunnel& tunnel = *agent.mutable_agent()->add_tunnels();
  tunnel.set_proxy("front-1");
  tunnel.mutable_round_trip()->set_nanos(200'000);
  EXPECT_TRUE(validate(agent).ok()) << validate(agent);

  tunnel.mutable_round_trip()->set_nanos(-1);
  EXPECT_FALSE(validate(agent).ok());
}

TEST(Validation, ATunnelNamesItsProxyAndANodesReasonIsALine) {
  v1::Resource agent = make_resource(Kind::Agent, "edge-1");
  agent.mutable_agent()->add_tunnels();
  EXPECT_FALSE(validate(agent).ok());

  v1::Resource proxy = make_resource(Kind::Proxy, "front-1");
  proxy.mutable_proxy()->set_reason(std::string(513, 'x'));
  EXPECT_FALSE(validate(proxy).ok());
}

}  // namespace
}  // namespace holdfast::resource
