#include "inject/translate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/reason.h"
#include "inject/json_edit.h"
#include "probe/registry.h"

namespace holdfast::inject {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

json::value parse(const char* text) {
  return json::parse(text);
}

json::value web_pod() {
  return parse(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[
    {"name":"web","livenessProbe":{"httpGet":{"path":"/live","port":8080}}}]}})");
}

Translation translated(const json::value& document, const InjectOptions& options = {}) {
  Result<Translation> out = translate(document, options);
  EXPECT_TRUE(out.ok()) << out.status();
  return out.ok() ? *std::move(out) : Translation();
}

const json::value& at(const json::value& document, const char* pointer) {
  json::error_code error;
  const json::value* found = document.find_pointer(pointer, error);
  EXPECT_NE(found, nullptr) << pointer << " in " << json::serialize(document);
  static const json::value kNothing;
  return found == nullptr ? kNothing : *found;
}

// A warning with this code and these words.
auto Says(const char* code, const char* words) {
  return testing::AllOf(testing::Field(&Warning::code, code),
                        testing::ResultOf(without_code, HasSubstr(words)));
}

std::string code_of(const Status& status) {
  return std::string(split_reason(status).code);
}

TEST(Translate, APatchTouchesOnlyWhatChanges) {
  const Translation done = translated(web_pod());

  std::vector<std::string> steps;
  for (const json::value& step : done.patch) {
    const json::object& fields = step.get_object();
    steps.push_back(find_text(fields, "op") + " " + find_text(fields, "path"));
  }
  EXPECT_THAT(steps, ElementsAre("add /metadata/annotations",
                                 "replace /spec/containers/0/livenessProbe/httpGet/path",
                                 "replace /spec/containers/0/livenessProbe/httpGet/port",
                                 "add /spec/containers/1"));
}

TEST(Translate, TheSidecarGetsARegistryThatTheHandlerTakes) {
  const Translation done = translated(web_pod());

  const json::value& variable = at(done.document, "/spec/containers/1/env/0");
  EXPECT_EQ(variable.at("name"), "HOLDFAST_DATAPLANE_PROBES");
  const auto registry = probe::Registry::parse(view(variable.at("value").get_string()));
  ASSERT_TRUE(registry.ok()) << registry.status();
  const json::value& path = at(done.document, "/spec/containers/0/livenessProbe/httpGet/path");
  const probe::Probe* probe = registry->find(view(path.get_string()));
  ASSERT_NE(probe, nullptr);
  EXPECT_EQ(probe->port, 8080);
}

TEST(Translate, DollarsReachTheHandlerThoughKubernetesExpandsVariables) {
  json::value pod = web_pod();
  pod.at("spec").at("containers").at(0).at("livenessProbe").at("httpGet").as_object()["path"] =
      "/$(HOME)/$$";

  const Translation done = translated(pod);

  const json::value& value = at(done.document, "/spec/containers/1/env/0/value");
  EXPECT_THAT(std::string(view(value.get_string())), testing::Not(HasSubstr("$")));
  const auto registry = probe::Registry::parse(view(value.get_string()));
  ASSERT_TRUE(registry.ok()) << registry.status();
  EXPECT_EQ(std::get<probe::HttpGet>(registry->probes()[0].action).path, "/$(HOME)/$$");
}

TEST(Translate, WhatTheApiServerFillsInLaterIsNoReasonForASecondPatch) {
  Translation done = translated(web_pod());
  json::object& probe =
      done.document.at("spec").at("containers").at(0).at("livenessProbe").as_object();
  probe["httpGet"].as_object()["scheme"] = "HTTP";
  probe["timeoutSeconds"] = 1;
  json::object& sidecar = done.document.at("spec").at("containers").at(1).as_object();
  sidecar["imagePullPolicy"] = "Always";
  sidecar["volumeMounts"] = json::array{json::object{{"name", "token"}}};

  EXPECT_THAT(translated(done.document).patch, IsEmpty());
}

TEST(Translate, AContainerThatCameLaterIsMerged) {
  Translation done = translated(web_pod());
  const json::value late =
      parse(R"({"name":"late","readinessProbe":{"grpc":{"port":6000,"service":"s"}}})");
  done.document.at("spec").at("containers").as_array().push_back(late);

  const Translation again = translated(done.document);

  EXPECT_EQ(at(again.document, "/spec/containers/2/readinessProbe/httpGet/path"), "/grpc/6000/s");
  EXPECT_EQ(at(again.document, "/spec/containers/1/env/0/value"),
            R"([{"httpGet":{"path":"/live","port":8080}},{"grpc":{"port":6000,"service":"s"}}])");
  EXPECT_THAT(translated(again.document).patch, IsEmpty());
  json::value expected = web_pod();
  expected.at("spec").at("containers").as_array().push_back(late);
  EXPECT_EQ(undo(again.document, {})->document, expected);
}

TEST(Translate, AProbeThatWasChangedSinceIsTranslatedAnewAndTheOldOneForgotten) {
  Translation done = translated(web_pod());
  done.document.at("spec").at("containers").at(0).as_object()["livenessProbe"] =
      parse(R"({"tcpSocket":{"port":5432}})");

  const Translation again = translated(done.document);

  EXPECT_EQ(at(again.document, "/spec/containers/1/env/0/value"),
            R"([{"tcpSocket":{"port":5432}}])");
}

TEST(Translate, DisablingAnInjectedPodTakesEverythingAwayButTheExclusion) {
  Translation done = translated(web_pod());
  done.document.at("metadata").at("annotations").as_object()["kuma.io/virtual-probes"] = "disabled";

  const Translation off = translated(done.document);

  EXPECT_EQ(at(off.document, "/spec"), web_pod().at("spec"));
  EXPECT_EQ(at(off.document, "/metadata/annotations/traffic.kuma.io~1exclude-inbound-ports"),
            "8080");
  EXPECT_EQ(at(off.document, "/metadata/annotations/kuma.io~1virtual-probes"), "disabled");
}

TEST(Translate, ExclusionsThatWereAddedSinceSurviveUndoing) {
  Translation done = translated(web_pod());
  done.document.at("metadata")
      .at("annotations")
      .as_object()["traffic.kuma.io/exclude-inbound-ports"] = "9000,7777";

  const Result<Translation> back = undo(done.document, {});

  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(at(back->document, "/metadata/annotations"),
            parse(R"({"traffic.kuma.io/exclude-inbound-ports":"7777"})"));
}

TEST(Translate, AnotherNameForTheSidecarDoesNotMakeASecondOne) {
  const Translation done = translated(web_pod());

  EXPECT_THAT(translated(done.document, {.sidecar = "other"}).patch, IsEmpty());
  EXPECT_EQ(undo(done.document, {.sidecar = "other"})->document, web_pod());
}

TEST(Translate, ThePortOfTheHandlerIsRefusedToOthers) {
  json::value probed = web_pod();
  probed.at("spec").at("containers").at(0).at("livenessProbe").at("httpGet").as_object()["port"] =
      9000;
  json::value listening = web_pod();
  listening.at("spec").at("containers").at(0).as_object()["ports"] =
      parse(R"([{"containerPort":9000}])");

  EXPECT_EQ(code_of(translate(probed, {}).status()), "HF7101");
  EXPECT_EQ(code_of(translate(listening, {}).status()), "HF7101");
  EXPECT_TRUE(translate(listening, {.port = 9001}).ok());
}

TEST(Translate, ADocumentThatIsNoObjectIsRefusedWithItsPlace) {
  const char* cases[] = {
      "[]",
      "7",
      "{}",
      R"({"kind":7})",
      R"({"kind":"List","items":{}})",
      R"({"kind":"Pod","spec":{"containers":7}})",
      R"({"kind":"Pod","spec":{"containers":[7]}})",
      R"({"kind":"List","items":[{"kind":"Pod","spec":{"initContainers":["x"]}}]})"};
  for (const char* text : cases) {
    EXPECT_EQ(code_of(translate(parse(text), {}).status()), "HF7104") << text;
  }
}

TEST(Translate, AForeignRecordIsRefused) {
  for (const char* record :
       {"7", "{", R"({"port":0})", R"({"probes":{"web":{"livenessProbe":{}}}})"}) {
    json::value pod = web_pod();
    pod.at("metadata").as_object()["annotations"] =
        json::object{{"holdfast.dev/original-probes", record}};
    EXPECT_EQ(code_of(translate(pod, {}).status()), "HF7105") << record;
    EXPECT_EQ(code_of(undo(pod, {}).status()), "HF7105") << record;
  }
}

TEST(Translate, ARecordThatCallsAnApplicationTheSidecarIsRefused) {
  for (const char* list : {"containers", "initContainers", "volumes"}) {
    json::value pod = web_pod();
    pod.at("spec").as_object()["initContainers"] = parse(R"([{"name":"web"}])");
    pod.at("metadata").as_object()["annotations"] =
        json::object{{"holdfast.dev/original-probes",
                      json::serialize(json::object{{"name", "web"}, {"sidecar", list}})}};
    EXPECT_EQ(code_of(translate(pod, {}).status()), "HF7105") << list;
    EXPECT_EQ(code_of(undo(pod, {}).status()), "HF7105") << list;
  }
}

TEST(Translate, WithHooksTheHandlerStartsFirstAndStopsLast) {
  json::value pod = web_pod();
  pod.at("spec").at("containers").at(0).as_object()["lifecycle"] =
      parse(R"({"preStop":{"httpGet":{"path":"/drain","port":8080}}})");

  const Translation done = translated(pod);

  EXPECT_EQ(at(done.document, "/spec/initContainers/0/name"), "holdfast-sidecar");
  EXPECT_EQ(at(done.document, "/spec/initContainers/0/restartPolicy"), "Always");
  EXPECT_EQ(at(done.document, "/spec/containers/0/lifecycle/preStop/httpGet/path"),
            "/hook/8080/drain");
  EXPECT_THAT(translated(done.document).patch, IsEmpty());
}

TEST(Translate, AHookThatCameLaterMovesTheHandler) {
  json::value pod = translated(web_pod()).document;
  pod.at("spec").at("containers").at(0).as_object()["lifecycle"] =
      parse(R"({"preStop":{"httpGet":{"path":"/drain","port":8080}}})");

  const Translation done = translated(pod);

  EXPECT_EQ(at(done.document, "/spec/containers").as_array().size(), 1u);
  EXPECT_EQ(at(done.document, "/spec/initContainers/0/name"), "holdfast-sidecar");
  EXPECT_THAT(translated(done.document).patch, IsEmpty());
}

constexpr const char* kLogs =
    R"({"name":"logs","restartPolicy":"Always","startupProbe":{"tcpSocket":{"port":5066}}})";

TEST(Translate, AnEarlyContainerThatCameLaterMovesAnOrdinaryHandler) {
  json::value pod = translated(web_pod()).document;
  pod.at("spec").as_object()["initContainers"] = json::array{parse(kLogs)};

  const Translation done = translated(pod);

  EXPECT_THAT(done.warnings, IsEmpty());
  EXPECT_EQ(at(done.document, "/spec/containers").as_array().size(), 1u);
  EXPECT_EQ(at(done.document, "/spec/initContainers/0/name"), "holdfast-sidecar");
  EXPECT_EQ(at(done.document, "/spec/initContainers/1/startupProbe/httpGet/path"), "/tcp/5066");
  EXPECT_THAT(translated(done.document).patch, IsEmpty());
  json::value expected = web_pod();
  expected.at("spec").as_object()["initContainers"] = json::array{parse(kLogs)};
  EXPECT_EQ(undo(done.document, {})->document, expected);
}

TEST(Translate, AnEarlyContainerThatCameInFrontMovesANativeHandler) {
  json::value pod = web_pod();
  pod.at("spec").as_object()["restartPolicy"] = "Never";
  pod = translated(pod).document;
  json::array& init = pod.at("spec").at("initContainers").as_array();
  ASSERT_EQ(init.size(), 1u) << "the handler";
  init.insert(init.begin(), parse(kLogs));

  const Translation done = translated(pod);

  EXPECT_THAT(done.warnings, IsEmpty());
  EXPECT_EQ(at(done.document, "/spec/initContainers/0/name"), "holdfast-sidecar");
  EXPECT_EQ(at(done.document, "/spec/initContainers/1/startupProbe/httpGet/path"), "/tcp/5066");
  EXPECT_EQ(at(done.document, "/spec/initContainers").as_array().size(), 2u);
  EXPECT_THAT(translated(done.document).patch, IsEmpty());
}

TEST(Translate, AnEarlyContainerThatCannotBeTranslatedMovesNothing) {
  json::value pod = translated(web_pod()).document;
  json::value unreadable = parse(kLogs);
  unreadable.at("startupProbe").at("tcpSocket").as_object()["port"] = "nobody";
  pod.at("spec").as_object()["initContainers"] = json::array{unreadable};
  pod.at("spec").at("containers").at(1).as_object()["imagePullPolicy"] = "Always";

  const Translation done = translated(pod);

  EXPECT_THAT(done.warnings, ElementsAre(Says("HF7121", "container \"logs\", startupProbe")));
  EXPECT_THAT(done.patch, IsEmpty()) << "what the API server filled in stays";
}

TEST(Translate, AHookIsLeftAloneIfTheHandlerIsAlreadyAnOrdinaryContainer) {
  json::value pod = web_pod();
  pod.at("spec")
      .at("containers")
      .as_array()
      .push_back(parse(R"({"name":"holdfast-sidecar","image":"x/holdfastd"})"));
  const json::value hooks = parse(R"({"preStop":{"httpGet":{"path":"/drain","port":8080}}})");
  pod.at("spec").at("containers").at(0).as_object()["lifecycle"] = hooks;

  const Translation done = translated(pod);

  EXPECT_THAT(done.warnings, ElementsAre(Says("HF7122", "may not be there when it is called")));
  EXPECT_EQ(at(done.document, "/spec/containers/0/lifecycle"), hooks);
}

TEST(Translate, AHandlerInsideAnAgentIsToldUnderTheAgentsKeyWhereToListen) {
  const std::pair<const char*, const char*> rows[] = {
      {R"({"args":["agent"]})", "HOLDFAST_AGENT_PROBE_LISTEN"},
      {R"({"command":["holdfastd","--log-level","debug","agent"],"args":["--name","probe"]})",
       "HOLDFAST_AGENT_PROBE_LISTEN"},
      {R"({"args":["probe","--address","agent"]})", "HOLDFAST_PROBE_LISTEN"},
      {R"({"args":null})", "HOLDFAST_PROBE_LISTEN"},
  };
  for (const auto& [words, variable] : rows) {
    json::value pod = web_pod();
    json::object handler = parse(words).as_object();
    handler["name"] = "holdfast-sidecar";
    handler["image"] = "x/holdfastd";
    pod.at("spec").at("containers").as_array().push_back(handler);

    const Translation done = translated(pod);

    EXPECT_EQ(at(done.document, "/spec/containers/1/env").as_array().size(), 2u) << words;
    EXPECT_EQ(at(done.document, "/spec/containers/1/env/1/name"), variable) << words;
    EXPECT_EQ(at(done.document, "/spec/containers/1/env/1/value"), "[::]:9000") << words;
    EXPECT_THAT(translated(done.document).patch, IsEmpty()) << words;
    EXPECT_EQ(undo(done.document, {})->document, pod) << words;
  }
}

TEST(Translate, OriginalsThatFitNoAnnotationAreRefused) {
  json::value pod = web_pod();
  json::object& http =
      pod.at("spec").at("containers").at(0).at("livenessProbe").at("httpGet").as_object();
  json::array headers;
  for (int i = 0; i < 60; ++i) {
    headers.push_back(json::object{{"name", "X"}, {"value", std::string(4000, 'x')}});
  }
  http["httpHeaders"] = std::move(headers);

  const Status refused = translate(pod, {}).status();
  EXPECT_EQ(code_of(refused), "HF7106");
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << "it is no conflict";
}

TEST(Translate, OtherKindsAndOtherGroupsComeBackAsTheyAre) {
  json::value other = web_pod();
  other.as_object()["apiVersion"] = "example.org/v1";
  EXPECT_THAT(translated(other).patch, IsEmpty());
  other.as_object()["kind"] = "Service";
  EXPECT_THAT(translated(other).patch, IsEmpty());
}

TEST(Translate, AnEarlyContainerIsLeftAloneIfTheHandlerIsAlreadyAnOrdinaryOne) {
  json::value pod = web_pod();
  pod.at("spec")
      .at("containers")
      .as_array()
      .push_back(parse(R"({"name":"holdfast-sidecar","image":"x/holdfastd"})"));
  pod.at("spec").as_object()["initContainers"] = json::array{parse(kLogs)};

  const Translation done = translated(pod);

  EXPECT_THAT(done.warnings, ElementsAre(Says("HF7122", "it is started before the handler")));
  EXPECT_EQ(at(done.document, "/spec/initContainers"), pod.at("spec").at("initContainers"));
}

}  // namespace
}  // namespace holdfast::inject
