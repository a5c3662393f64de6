#include "resource/codec.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "resource/registry.h"
#include "resource/validation.h"

namespace holdfast::resource {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kWeb = R"(kind: service
metadata: {name: web, labels: {tier: front}, expires: 2026-11-16T00:00:00Z}
spec: {ports: [{port: 8080, protocol: http}], agent_selector: {app: web}, zone_capacity: {a: 100}}
)";

std::string error_of(std::string_view text, Format format = Format::Auto) {
  const auto resources = parse_documents(text, format);
  EXPECT_TRUE(resources.ok() || resources.status().code() == absl::StatusCode::kInvalidArgument);
  return resources.ok() ? "" : std::string(resources.status().message());
}

std::string spec_error(std::string_view kind, std::string_view spec) {
  return error_of(fmt::format("kind: {}\nspec: {}\n", kind, spec));
}

v1::Resource read_one(std::string_view text) {
  const auto resources = parse_documents(text);
  EXPECT_TRUE(resources.ok()) << resources.status();
  return resources.ok() && resources->size() == 1 ? resources->front() : v1::Resource();
}

TEST(Codec, ReadsWhatPeopleWrite) {
  const v1::Resource web = read_one(kWeb);

  EXPECT_EQ(web.kind(), "service");
  EXPECT_EQ(web.metadata().name(), "web");
  EXPECT_EQ(web.metadata().labels().at("tier"), "front");
  EXPECT_EQ(web.metadata().expires().seconds(), 1'794'787'200);
  EXPECT_EQ(web.service().ports(0).port(), 8080u);
  EXPECT_EQ(web.service().ports(0).protocol(), v1::PROTOCOL_HTTP);
  EXPECT_EQ(web.service().zone_capacity().at("a"), 100u);
}

TEST(Codec, PrintsYamlInAStableOrder) {
  EXPECT_EQ(to_yaml(read_one(kWeb)), R"(apiVersion: holdfast.dev/v1
kind: service
metadata:
  name: web
  labels:
    tier: front
  expires: 2026-11-16T00:00:00Z
spec:
  ports:
    - port: 8080
      protocol: http
  agent_selector:
    app: web
  zone_capacity:
    a: 100
)");
}

TEST(Codec, PrintsJsonOnOneLineOrMany) {
  const v1::Resource user =
      read_one("{kind: user, metadata: {name: u}, spec: {roles: [a], disabled: true}}");

  EXPECT_EQ(to_json(user),
            R"({"apiVersion":"holdfast.dev/v1","kind":"user","metadata":{"name":"u"},)"
            R"("spec":{"roles":["a"],"disabled":true}})");
  EXPECT_EQ(to_json_pretty(make_resource(Kind::User, "u")), R"({
  "apiVersion": "holdfast.dev/v1",
  "kind": "user",
  "metadata": {
    "name": "u"
  },
  "spec": {}
}
)");
}

TEST(Codec, PrintsSixtyFourBitNumbersExactly) {
  v1::Resource proxy = make_resource(Kind::Proxy, "p");
  proxy.mutable_proxy()->set_generation(UINT64_MAX);
  proxy.mutable_metadata()->set_revision(9007199254740993);

  EXPECT_THAT(to_json(proxy), HasSubstr("\"generation\":18446744073709551615"));
  EXPECT_THAT(to_json(proxy), HasSubstr("\"revision\":9007199254740993"));
}

TEST(Codec, PrintsTextThatNoReaderCanMistake) {
  v1::Resource user = make_resource(Kind::User, "u");
  auto& labels = *user.mutable_metadata()->mutable_labels();
  for (const char* text :
       {"true", "No", "null", "~",  "",   "1",  "1.10", "1e5", "0x1F", "2026-11-16", "12:30", "- a",
        "a: b", "#a", "a:",   "*a", "&a", "!a", "%a",   "@a",  "'",    "---",        ".inf"}) {
    labels["k"] = text;
    EXPECT_THAT(to_yaml(user), HasSubstr(fmt::format("k: \"{}\"\n", text)));
  }
  for (const char* text : {"front", "a-b.c/d_e", "30s", "1h30m", "a:b", "a@b", "v1.10"}) {
    labels["k"] = text;
    EXPECT_THAT(to_yaml(user), HasSubstr(fmt::format("k: {}\n", text)));
  }
}

TEST(Codec, PrintingLeavesMapsAsTheyAre) {
  v1::Resource user = make_resource(Kind::User, "u");
  auto& labels = *user.mutable_metadata()->mutable_labels();
  labels["k"] = "before";
  to_json(user);
  validate(user).IgnoreError();

  labels["k"] = "after";

  EXPECT_THAT(to_json(user), HasSubstr("after"));
}

TEST(Codec, NeverPrintsWhatATerminalObeys) {
  v1::Resource user = make_resource(Kind::User, "u");
  user.mutable_metadata()->set_description("\x1b[31m\xc2\x9b\x7f\r\n\t\xe2\x80\xa8\xff");

  for (const std::string& text : {to_json(user), to_yaml(user)}) {
    EXPECT_THAT(text, HasSubstr("\"\\u001b[31m\\u009b\\u007f\\u000d\\n\\t\\u2028\xef\xbf\xbd\""));
  }
}

TEST(Codec, TakesFieldNamesInBothSpellings) {
  const v1::Resource web = read_one(
      R"({"kind": "Service",
          "spec": {"zoneCapacity": {"a": "7"}, "when_full": "WHEN_FULL_QUEUE"}})");

  EXPECT_EQ(web.service().zone_capacity().at("a"), 7u);
  EXPECT_EQ(web.service().when_full(), v1::WHEN_FULL_QUEUE);
  EXPECT_EQ(spec_error("service", "{when_full: queue, whenFull: queue}"),
            "2:26: spec.whenFull: given twice, in two spellings; keep one");
}

TEST(Codec, TakesPlainYamlScalarsLiterallyWhereTextIsExpected) {
  const v1::Resource user =
      read_one("kind: user\nmetadata: {name: 1.10, labels: {a: true, b: 007}}\n");

  EXPECT_EQ(user.metadata().name(), "1.10");
  EXPECT_EQ(user.metadata().labels().at("a"), "true");
  EXPECT_EQ(user.metadata().labels().at("b"), "007");
}

TEST(Codec, JsonIsStricterAboutStrings) {
  EXPECT_EQ(error_of(R"({"kind": "user", "metadata": {"name": 5}})"),
            "1:39: metadata.name: must be a string; put it in quotes");
}

TEST(Codec, NullMeansNotSet) {
  const v1::Resource agent =
      read_one("kind: agent\nmetadata: ~\nspec: {zone: null, services: ~}\n");

  EXPECT_FALSE(agent.has_metadata());
  EXPECT_EQ(kind_of(agent), Kind::Agent);
  EXPECT_THAT(spec_error("agent", "{services: [~]}"), HasSubstr("spec.services[0]: must be"));
  EXPECT_THAT(spec_error("service", "{zone_capacity: {a: ~}}"),
              HasSubstr("spec.zone_capacity.a: must be"));
}

TEST(Codec, ReadsStreamsAndLists) {
  const auto stream = parse_documents("kind: user\nmetadata: {name: a}\n---\nkind: role\n---\n");
  const auto list = parse_documents("kind: list\nitems:\n- kind: user\n- kind: role\n");
  const auto json = parse_documents(
      R"({"apiVersion": "holdfast.dev/v1", "kind": "list", "items": [{"kind": "role"}]})");

  ASSERT_TRUE(stream.ok() && list.ok() && json.ok());
  EXPECT_EQ(stream->size(), 2u);
  EXPECT_EQ(list->size(), 2u);
  EXPECT_EQ(json->size(), 1u);
  EXPECT_TRUE(parse_documents("")->empty());
  EXPECT_TRUE(parse_documents("kind: list")->empty());
}

TEST(Codec, PrintsManyAsOneTextThatReadsBack) {
  const std::vector<v1::Resource> two = {make_resource(Kind::User, "a"),
                                         make_resource(Kind::Role, "b")};

  EXPECT_EQ(parse_documents(list_to_yaml(two))->size(), 2u);
  EXPECT_EQ(parse_documents(list_to_json_pretty(two))->size(), 2u);
  EXPECT_EQ(parse_documents(list_to_json_pretty({}))->size(), 0u);
}

TEST(Codec, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(error_of("kind: service\nmetadata:\n  name: web\nspec:\n  prots: []\n"),
            "5:3: spec.prots: unknown field; did you mean \"ports\"?");
  EXPECT_EQ(error_of("kind: servce\n"),
            "1:7: kind: \"servce\" is not a kind; did you mean \"service\"?");
  EXPECT_EQ(error_of("kind: user\nmetdata: {}\n"),
            "2:1: metdata: unknown field; did you mean \"metadata\"?");
  EXPECT_EQ(error_of("metadata: {}\n"),
            "1:1: kind: is missing; say what this is, as in kind: service");
  EXPECT_EQ(error_of("kind: list\nitems:\n- kind: user\n  spec: {role: a}\n"),
            "4:10: items[0].spec.role: unknown field; did you mean \"roles\"?");
  EXPECT_THAT(error_of("apiVersion: v2\nkind: user\n"),
              HasSubstr("1:13: apiVersion: \"v2\" is not a version"));
}

TEST(Codec, RefusesWrongTypesEverywhere) {
  EXPECT_THAT(error_of("[]"),
              HasSubstr("must be a resource with kind, metadata and spec, not a list"));
  EXPECT_THAT(error_of("hello"), HasSubstr("not \"hello\""));
  EXPECT_THAT(error_of("kind: [service]"), HasSubstr("kind: must be a word"));
  EXPECT_THAT(error_of("kind: user\nmetadata: web"),
              HasSubstr("metadata: must be a mapping, not \"web\""));
  EXPECT_THAT(error_of("kind: list\nitems: {}"), HasSubstr("items: must be a list, not a mapping"));
  EXPECT_THAT(error_of("kind: list\nitems: [5]"), HasSubstr("items[0]: must be a resource"));
  EXPECT_THAT(spec_error("service", "[]"), HasSubstr("spec: must be a mapping, not a list"));
  EXPECT_THAT(spec_error("service", "{ports: 80}"),
              HasSubstr("spec.ports: must be a list, not \"80\""));
  EXPECT_THAT(spec_error("service", "{ports: [80]}"),
              HasSubstr("spec.ports[0]: must be a mapping"));
  EXPECT_THAT(spec_error("service", "{ports: [{port: []}]}"),
              HasSubstr("must be one value, not a list"));
  EXPECT_THAT(spec_error("service", "{ports: [{port: http}]}"),
              HasSubstr("\"http\" is not a whole number"));
  EXPECT_THAT(spec_error("service", "{ports: [{port: 80.5}]}"),
              HasSubstr("\"80.5\" is not a whole number"));
  EXPECT_THAT(spec_error("service", "{ports: [{port: -1}]}"), HasSubstr("\"-1\" is out of range"));
  EXPECT_THAT(spec_error("service", "{ports: [{protocol: htpp}]}"),
              HasSubstr("did you mean \"http\"?"));
  EXPECT_THAT(spec_error("service", "{zone_capacity: {a: 18446744073709551616}}"),
              HasSubstr("out of range"));
  EXPECT_THAT(spec_error("service", "{virtual_ip: {}}"),
              HasSubstr("must be a string, not a mapping"));
  EXPECT_THAT(spec_error("proxy", "{draining: yes}"), HasSubstr("\"yes\" is not true or false"));
  EXPECT_THAT(spec_error("proxy", "{draining: 'true'}"), HasSubstr("is not true or false"));
  EXPECT_THAT(spec_error("proxy", "{draining: []}"),
              HasSubstr("must be true or false, not a list"));
  EXPECT_THAT(spec_error("proxy", "{announce_ttl: 30}"),
              HasSubstr("\"30\" is not a duration; write one"));
  EXPECT_THAT(spec_error("proxy", "{started: yesterday}"),
              HasSubstr("\"yesterday\" is not a time"));
  EXPECT_THAT(spec_error("token", "{hash: '*'}"), HasSubstr("spec.hash: is not base64"));
  EXPECT_THAT(spec_error("agent", "{proxies: [[]]}"),
              HasSubstr("spec.proxies[0]: must be a string"));
}

TEST(Codec, TellsJsonFromYamlByItsFirstCharacters) {
  EXPECT_EQ(error_of("{kind: user}"), "");
  EXPECT_EQ(error_of(" \n{ \"kind\": \"user\" }"), "");
  EXPECT_THAT(error_of("{\"kind\": user}"), HasSubstr("expected a value"));
  EXPECT_EQ(error_of("{\"kind\": user}", Format::Yaml), "");
  EXPECT_NE(error_of("kind: user", Format::Json), "");
  EXPECT_THAT(error_of("{}"), HasSubstr("kind: is missing"));
}

TEST(Codec, ShowsAnErrorAsACompilerDoes) {
  constexpr std::string_view kText = "kind: service\nmetadata:\n  name: web\nspec:\n  prots: []\n";
  const auto error = parse_resources(kText).error();

  EXPECT_EQ(error.code, ErrorCode::UnknownField);
  EXPECT_EQ(format_error("web.yaml", kText, error),
            "web.yaml:5:3: error HF6004: spec.prots: unknown field; did you mean \"ports\"?\n"
            "    5 |   prots: []\n"
            "      |   ^~~~~\n");
}

TEST(Codec, UnderlinesTheRightPlaceAfterTabsAndWideText) {
  constexpr std::string_view kText =
      "{kind: user, metadata: {labels: {\xc3\xa9:\t\"\xc3\xa9\"}, nmae: \"a b\"}}";

  EXPECT_EQ(format_error("f", kText, parse_resources(kText).error()),
            "f:1:45: error HF6004: metadata.nmae: unknown field; did you mean \"name\"?\n"
            "    1 | {kind: user, metadata: {labels: {\xc3\xa9: \"\xc3\xa9\"}, nmae: \"a b\"}}\n"
            "      |                                           ^~~~\n");
}

TEST(Codec, AnErrorInAHugeLineIsShownWithoutIt) {
  const std::string text = "kind: " + std::string(5000, 'x') + "\n";
  const std::string shown = format_error("f", text, parse_resources(text).error());

  EXPECT_LT(shown.size(), 800u);
  EXPECT_THAT(format_error("f", "", {.at = {99, 99}, .message = "m"}),
              "f:99:99: error HF6002: m\n");
}

TEST(Codec, ForeignKeysInErrorsAreHarmless) {
  const std::string error = error_of("kind: user\nspec: {\"\\e[31m\\n\": 1}\n");

  EXPECT_THAT(error, HasSubstr(R"(spec."\x1b[31m\x0a": unknown field)"));
}

TEST(Codec, ANewerKindIsPrintedWithoutItsBody) {
  v1::Resource newer;
  newer.set_kind("gateway");
  newer.mutable_metadata()->set_name("g");

  EXPECT_EQ(to_json(newer),
            R"({"apiVersion":"holdfast.dev/v1","kind":"gateway","metadata":{"name":"g"}})");
}

}  // namespace
}  // namespace holdfast::resource
