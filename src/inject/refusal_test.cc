// What the translation refuses, and what it warns of: by code, with the place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/reason.h"
#include "inject/json_edit.h"
#include "inject/translate.h"

namespace holdfast::inject {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kProbe = R"({"httpGet":{"path":"/live","port":8080}})";

// A pod whose container "web" has a probe, with more members of its spec.
json::value pod(const std::string& annotations = "{}", const std::string& more = "") {
  return json::parse(R"({"kind":"Pod","metadata":{"name":"a","annotations":)" + annotations +
                     R"(},"spec":{"containers":[{"name":"web","livenessProbe":)" + kProbe + "}]" +
                     more + "}}");
}

std::string refusal(const json::value& document, const InjectOptions& options = {}) {
  return std::string(translate(document, options).status().message());
}

std::vector<std::string> refusal_warnings(const json::value& document) {
  std::vector<std::string> out;
  const Result<Translation> done = translate(document, {});
  EXPECT_TRUE(done.ok()) << done.status();
  if (!done.ok()) return out;
  for (const Warning& warning : done->warnings) out.push_back(to_text(warning));
  return out;
}

TEST(Refusals, AnApplicationThatHasTheSidecarsNameIsNamed) {
  const json::value web = pod();

  EXPECT_THAT(refusal(web, {.sidecar = "web"}),
              AllOf(HasSubstr("HF7109"), HasSubstr("container \"web\""), HasSubstr("Pod \"a\"")));
  // Also if it is another one whose probes are translated.
  EXPECT_THAT(refusal(pod("{}", R"(,"initContainers":[{"name":"init"}])"), {.sidecar = "init"}),
              HasSubstr("HF7109"));
}

TEST(Refusals, AContainerOfTheSidecarsNameIsTheHandlerByItsImageOrItsVariable) {
  const char* handlers[] = {
      R"({"name":"own","image":"reg.example:5000/x/holdfastd:1.2"})",
      R"({"name":"own","image":"holdfastd@sha256:00"})",
      R"({"name":"own","image":"mine/dp:7"})",
      R"({"name":"own","env":[{"name":"HOLDFAST_DATAPLANE_PROBES"}]})",
      R"({"name":"own","env":[{"name":"KUMA_DATAPLANE_PROBES","value":""}]})",
  };
  for (const char* handler : handlers) {
    json::value document = pod();
    document.at("spec").at("containers").as_array().push_back(json::parse(handler));
    EXPECT_EQ(refusal(document, {.image = "mine/dp:7", .sidecar = "own"}), "") << handler;
  }
  for (const char* other : {R"({"name":"own"})", R"({"name":"own","image":"holdfastd/web"})",
                            R"({"name":"own","image":"my-holdfastd"})"}) {
    json::value document = pod();
    document.at("spec").at("containers").as_array().push_back(json::parse(other));
    EXPECT_THAT(refusal(document, {.sidecar = "own"}), HasSubstr("HF7109")) << other;
  }
}

TEST(Refusals, ThePortsOfAnApplicationWithTheSidecarsNameAreStillExcludedWhenDisabled) {
  const Result<Translation> off = translate(pod(), {.enabled = false, .sidecar = "web"});

  ASSERT_TRUE(off.ok()) << off.status();
  EXPECT_THAT(json::serialize(off->document),
              HasSubstr(R"("traffic.kuma.io/exclude-inbound-ports":"8080")"));
}

TEST(Refusals, NamesAndImagesThatKubernetesDoesNotTakeAreWrongOptions) {
  EXPECT_TRUE(check_options({}).ok());
  for (const char* name : {"", "A", "a b", "a.b", "-a"}) {
    EXPECT_EQ(split_reason(check_options({.sidecar = name})).code, "HF7110") << name;
  }
  for (const char* image : {"", " ", "a b", "a:"}) {
    EXPECT_EQ(split_reason(check_options({.image = image})).code, "HF7110") << image;
  }
}

TEST(Refusals, AWrongShapeIsNamedWithItsPathInsteadOfWrittenOver) {
  const std::pair<const char*, const char*> rows[] = {
      {R"({"kind":"Pod","metadata":[],"spec":{}})", "metadata is a list where an object"},
      {R"({"kind":"Pod","metadata":{"annotations":["a"]},"spec":{}})",
       "metadata.annotations is a list where an object"},
      {R"({"kind":"Pod","metadata":{"annotations":"a"},"spec":{}})",
       "metadata.annotations is a text where an object"},
      {R"({"kind":"Pod","spec":{"containers":{}}})", "spec.containers is an object where a list"},
      {R"({"kind":"Pod","spec":{"containers":[{"name":"a"},null]}})",
       "spec.containers[1] is empty where an object"},
      {R"({"kind":"Pod","spec":{"containers":[{"name":"a","env":"x"}]}})",
       "spec.containers[0].env is a text where a list"},
      {R"({"kind":"Pod","spec":{"initContainers":[{"name":"a","env":{}}]}})",
       "spec.initContainers[0].env is an object where a list"},
      {R"({"kind":"Deployment","spec":{"template":{"metadata":7,"spec":{}}}})",
       "Deployment: spec.template.metadata is a number where an object"},
      {R"({"kind":"CronJob","spec":{"jobTemplate":{"spec":{"template":{"metadata":
          {"annotations":true},"spec":{}}}}}})",
       "spec.jobTemplate.spec.template.metadata.annotations is a truth value"},
      {R"({"kind":"List","items":[{"kind":"Pod","spec":{}},{"kind":"Pod","spec":
          {"containers":[7]}}]})",
       "items[1].spec.containers[0] is a number where an object"},
      {R"({"kind":"List","items":[{"kind":"Pod"},7]})",
       "no Kubernetes object at items[1]: it is no mapping"},
  };
  for (const auto& [text, place] : rows) {
    EXPECT_THAT(refusal(json::parse(text)), AllOf(HasSubstr("HF7104"), HasSubstr(place))) << text;
    EXPECT_EQ(refusal(json::parse(text)),
              std::string(undo(json::parse(text), {}).status().message()));
  }
}

TEST(Refusals, WhatIsEmptyHasNoWrongShape) {
  EXPECT_EQ(refusal(json::parse(R"({"kind":"Pod","metadata":null,"spec":{"containers":null}})")),
            "");
  EXPECT_EQ(refusal(pod("null")), "");
}

TEST(Refusals, AListOfExclusionsThatIsNoneIsNamed) {
  const char* names[] = {"traffic.kuma.io/exclude-inbound-ports",
                         "holdfast.dev/exclude-inbound-ports"};
  for (const char* name : names) {
    for (const char* list : {"http", "0", "65536", "80;90", "80,,90", "80,", "9-8"}) {
      const json::object annotations{{name, list}};
      EXPECT_THAT(refusal(pod(json::serialize(annotations))),
                  AllOf(HasSubstr("HF7103"), HasSubstr(name), HasSubstr(list)));
    }
    for (const char* list : {"", "80", " 80 , 90 ", "1-65535"}) {
      const json::object annotations{{name, list}};
      EXPECT_EQ(refusal(pod(json::serialize(annotations))), "") << list;
    }
  }
}

TEST(Refusals, AnnotationsOfAPodThatHasNothingToTranslateAreNotRead) {
  const std::pair<const char*, const char*> rows[] = {
      {"traffic.kuma.io/exclude-inbound-ports", "http"},
      {"holdfast.dev/exclude-inbound-ports", "80;90"},
      {"kuma.io/virtual-probes-port", "ninety"},
      {"holdfast.dev/virtual-probes", "maybe"},
  };
  for (const auto& [name, value] : rows) {
    json::value document = pod(json::serialize(json::object{{name, value}}));
    EXPECT_THAT(refusal(document), HasSubstr("HF7103")) << name;
    document.at("spec").at("containers").at(0).as_object().erase("livenessProbe");

    const Result<Translation> done = translate(document, {});

    ASSERT_TRUE(done.ok()) << done.status();
    EXPECT_THAT(done->patch, IsEmpty()) << name;
  }
}

// As Kuma's "sidecar skipped": what asks the handler is no real port.
TEST(Refusals, TheProbesOfAHandlerThatIsThereAreNoRealPortsWhenDisabled) {
  json::value document = pod(R"({"kuma.io/virtual-probes":"disabled"})");
  document.at("spec")
      .at("containers")
      .as_array()
      .push_back(json::parse(
          R"({"name":"holdfast-sidecar","image":"x/holdfastd:1",
          "readinessProbe":{"httpGet":{"path":"/healthz","port":9000}}})"));

  const Result<Translation> off = translate(document, {});

  ASSERT_TRUE(off.ok()) << off.status();
  EXPECT_EQ(off->document.at("spec"), document.at("spec"));
  EXPECT_THAT(json::serialize(off->document),
              HasSubstr(R"("traffic.kuma.io/exclude-inbound-ports":"8080")"));
}

TEST(Refusals, APortWithBlanksOrASignIsNoPort) {
  for (const char* port : {"+9000", " 9000", "9000 ", "0x10", "-0", "65536", "9e3"}) {
    const json::object annotations{{"kuma.io/virtual-probes-port", port}};
    EXPECT_THAT(refusal(pod(json::serialize(annotations))), HasSubstr("HF7103")) << port;
  }
}

TEST(Refusals, AHookThatNoKubeletCallsStaysWithAWarning) {
  json::value document = pod();
  document.at("spec").at("containers").at(0).as_object()["lifecycle"] =
      json::parse(R"({"preStop":{"tcpSocket":{"port":80}},"postStart":{"sleep":{"seconds":1}}})");
  const json::value hooks = document.at("spec").at("containers").at(0).at("lifecycle");

  EXPECT_THAT(refusal_warnings(document),
              ElementsAre(AllOf(HasSubstr("HF7127"), HasSubstr("preStop"))));
  EXPECT_EQ(translate(document, {})->document.at("spec").at("containers").at(0).at("lifecycle"),
            hooks);
}

// Kubernetes has no such field; what stands beside the action is not ours to judge.
TEST(Refusals, AFieldBesideTheActionOfAHookStaysAndDoesNotReachTheHandler) {
  json::value document = pod();
  document.at("spec").at("containers").at(0).as_object()["lifecycle"] =
      json::parse(R"({"preStop":{"httpGet":{"path":"/stop","port":80},"timeoutSeconds":5}})");

  const Result<Translation> done = translate(document, {});

  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_THAT(done->warnings, IsEmpty());
  const std::string text = json::serialize(done->document);
  EXPECT_THAT(text, HasSubstr(R"("path":"/hook/80/stop","port":9000},"timeoutSeconds":5)"));
  EXPECT_THAT(text, HasSubstr(R"({\"httpGet\":{\"path\":\"/stop\",\"port\":80},\"hook\":true})"));
}

TEST(Refusals, ProbesThatTheHandlersListDoesNotTakeAnyMoreStayWithAWarningEach) {
  json::array containers;
  for (int i = 0; i < 1100; ++i) {
    containers.push_back(
        {{"name", "c" + std::to_string(i)}, {"livenessProbe", {{"tcpSocket", {{"port", i + 1}}}}}});
  }
  const json::value document{{"kind", "Pod"}, {"spec", {{"containers", containers}}}};

  const std::vector<std::string> said = refusal_warnings(document);

  EXPECT_EQ(said.size(), 1100U - 1024U);
  EXPECT_THAT(said, testing::Each(testing::StartsWith("HF7121: ")));
  const Result<Translation> done = translate(document, {});
  EXPECT_THAT(translate(done->document, {})->patch, IsEmpty());
  EXPECT_EQ(undo(done->document, {})->document, document);
}

TEST(Refusals, EachWarningHasACodeAndItsPlace) {
  const std::pair<const char*, const char*> rows[] = {
      {R"({"exec":{"command":["x"]}})", "HF7120: Pod \"a\": container \"web\", livenessProbe: "},
      {R"({"httpGet":{"port":"nope"}})", "HF7121: Pod \"a\": container \"web\", livenessProbe: "},
      {R"({"grpc":{"port":1},"tcpSocket":{"port":1}})", "HF7121: "},
      {R"({"tcpSocket":{"port":1,"host":"[::1]"}})", "HF7121: "},
      {R"({"grpc":{"port":1,"color":2}})", "HF7123: "},
  };
  for (const auto& [probe, begin] : rows) {
    json::value document = pod();
    document.at("spec").at("containers").at(0).as_object()["livenessProbe"] = json::parse(probe);
    EXPECT_THAT(refusal_warnings(document), ElementsAre(testing::StartsWith(begin))) << probe;
  }
  EXPECT_THAT(refusal_warnings(pod("{}", R"(,"hostNetwork":true)")),
              ElementsAre(testing::StartsWith("HF7125: Pod \"a\": the pod is in")));
  json::value twins = pod();
  twins.at("spec").at("containers").as_array().push_back(twins.at("spec").at("containers").at(0));
  EXPECT_THAT(refusal_warnings(twins), ElementsAre(testing::StartsWith("HF7124: ")));
}

}  // namespace
}  // namespace holdfast::inject
