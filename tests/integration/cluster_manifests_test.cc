// The manifests of `holdfast install k8s`, read by our own YAML reader: names, selectors and
// references, each against what it must point at.
#include <absl/strings/escaping.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "inject/cluster_manifests.h"
#include "inject/review.h"
#include "inject/translate.h"
#include "resource/node.h"

namespace holdfast::inject {
namespace {

using resource::Node;
using testing::ElementsAre;
using testing::HasSubstr;

ClusterOptions options() {
  return {.ca = "authority", .certificate = "certificate", .key = "key"};
}

// By kind.
std::map<std::string, Node> read(const ClusterOptions& given) {
  std::map<std::string, Node> documents;
  const auto parsed = resource::read_yaml(manifests(given));
  EXPECT_TRUE(parsed) << resource::to_status(parsed.error());
  if (!parsed) return documents;
  for (const Node& document : *parsed) {
    const std::string kind = resource::find_member(document, "kind")->text;
    EXPECT_TRUE(documents.emplace(kind, document).second) << kind << " twice";
  }
  return documents;
}

// "spec.ports.0.name"; an empty node if there is none.
Node at(const Node& node, const std::string& path) {
  if (path.empty()) return node;
  const size_t dot = path.find('.');
  const std::string step = path.substr(0, dot);
  const std::string rest = dot == std::string::npos ? "" : path.substr(dot + 1);
  if (node.shape == Node::Shape::Sequence) {
    const size_t index = std::stoul(step);
    return index < node.items.size() ? at(node.items[index], rest) : Node();
  }
  const Node* found = resource::find_member(node, step);
  return found != nullptr ? at(*found, rest) : Node();
}

std::string text(const Node& node, const std::string& path) {
  return at(node, path).text;
}

std::vector<std::string> texts(const Node& node) {
  std::vector<std::string> all;
  for (const Node& item : node.items) all.push_back(item.text);
  return all;
}

std::map<std::string, std::string> pairs(const Node& mapping) {
  std::map<std::string, std::string> all;
  for (const resource::Member& member : mapping.members) all[member.key] = member.value.text;
  return all;
}

std::string decoded(const std::string& base64) {
  std::string bytes;
  EXPECT_TRUE(absl::Base64Unescape(base64, &bytes)) << base64;
  return bytes;
}

// The one with this name, of a list of mappings.
Node named(const Node& list, const std::string& name) {
  for (const Node& item : list.items) {
    if (text(item, "name") == name) return item;
  }
  return {};
}

TEST(Manifests, EveryDocumentHasItsKindVersionAndNamespace) {
  const auto documents = read(options());
  const std::map<std::string, std::string> versions = {
      {"Namespace", "v1"},
      {"ServiceAccount", "v1"},
      {"Secret", "v1"},
      {"Deployment", "apps/v1"},
      {"Service", "v1"},
      {"PodDisruptionBudget", "policy/v1"},
      {"MutatingWebhookConfiguration", "admissionregistration.k8s.io/v1"}};
  ASSERT_EQ(documents.size(), versions.size());
  for (const auto& [kind, version] : versions) {
    ASSERT_TRUE(documents.contains(kind)) << kind;
    const Node document = documents.at(kind);
    EXPECT_EQ(text(document, "apiVersion"), version) << kind;
    const bool of_cluster = kind == "Namespace" || kind == "MutatingWebhookConfiguration";
    EXPECT_EQ(text(document, "metadata.namespace"), of_cluster ? "" : "holdfast-system") << kind;
  }
  EXPECT_EQ(text(documents.at("Namespace"), "metadata.name"), "holdfast-system");
}

TEST(Manifests, WhatOneDocumentNamesIsInAnother) {
  const auto documents = read(options());
  const Node deployment = documents.at("Deployment");
  const Node pod = at(deployment, "spec.template");
  const Node container = at(pod, "spec.containers.0");
  const Node service = documents.at("Service");
  const Node webhook = at(documents.at("MutatingWebhookConfiguration"), "webhooks.0");

  const auto labels = pairs(at(pod, "metadata.labels"));
  const Node selectors[] = {at(deployment, "spec.selector.matchLabels"),
                            at(service, "spec.selector"),
                            at(documents.at("PodDisruptionBudget"), "spec.selector.matchLabels"),
                            at(pod, "spec.topologySpreadConstraints.0.labelSelector.matchLabels")};
  for (const Node& selector : selectors) {
    EXPECT_FALSE(selector.members.empty());
    for (const auto& [key, value] : pairs(selector)) EXPECT_EQ(labels.at(key), value) << key;
  }
  EXPECT_EQ(text(pod, "spec.serviceAccountName"),
            text(documents.at("ServiceAccount"), "metadata.name"));
  EXPECT_EQ(text(pod, "spec.volumes.0.secret.secretName"),
            text(documents.at("Secret"), "metadata.name"));
  EXPECT_EQ(text(container, "volumeMounts.0.name"), text(pod, "spec.volumes.0.name"));
  EXPECT_EQ(text(webhook, "clientConfig.service.name"), text(service, "metadata.name"));
  EXPECT_EQ(text(webhook, "clientConfig.service.namespace"), text(service, "metadata.namespace"));
  EXPECT_EQ(text(webhook, "clientConfig.service.port"), text(service, "spec.ports.0.port"));
  const Node port = named(at(container, "ports"), text(service, "spec.ports.0.targetPort"));
  EXPECT_EQ(text(port, "containerPort"), "9443");
  for (const char* probe : {"livenessProbe", "readinessProbe"}) {
    const std::string name = text(container, std::string(probe) + ".httpGet.port");
    EXPECT_EQ(text(named(at(container, "ports"), name), "containerPort"), "9080") << probe;
  }
}

TEST(Manifests, TheInjectorFindsItsCertificateWhereItIsMounted) {
  const auto documents = read(options());
  const Node container = at(documents.at("Deployment"), "spec.template.spec.containers.0");
  const Node variables = at(container, "env");

  const std::string folder = text(container, "volumeMounts.0.mountPath");
  EXPECT_EQ(text(named(variables, "HOLDFAST_INJECTOR_CERTIFICATE_FILE"), "value"),
            folder + "/tls.crt");
  EXPECT_EQ(text(named(variables, "HOLDFAST_INJECTOR_KEY_FILE"), "value"), folder + "/tls.key");
  const auto data = pairs(at(documents.at("Secret"), "data"));
  EXPECT_EQ(decoded(data.at("tls.crt")), "certificate");
  EXPECT_EQ(decoded(data.at("tls.key")), "key");
  EXPECT_EQ(text(documents.at("Secret"), "type"), "kubernetes.io/tls");
  EXPECT_EQ(texts(at(container, "args")), std::vector<std::string>{"injector"});
}

TEST(Manifests, TheWebhookIsWhatAnApiServerTakes) {
  const Node webhook = at(read(options()).at("MutatingWebhookConfiguration"), "webhooks.0");

  EXPECT_EQ(text(webhook, "name"), "pods.injector.holdfast.dev");  // dotted, as it must be
  EXPECT_EQ(text(webhook, "sideEffects"), "None");
  EXPECT_EQ(text(webhook, "failurePolicy"), "Fail");
  EXPECT_EQ(text(webhook, "reinvocationPolicy"), "IfNeeded");
  EXPECT_EQ(text(webhook, "timeoutSeconds"), "5");
  EXPECT_THAT(texts(at(webhook, "admissionReviewVersions")), ElementsAre("v1", "v1beta1"));
  EXPECT_EQ(text(webhook, "clientConfig.service.path"), "/inject");
  EXPECT_EQ(decoded(text(webhook, "clientConfig.caBundle")), "authority");
  EXPECT_THAT(texts(at(webhook, "rules.0.operations")), ElementsAre("CREATE"));
  EXPECT_THAT(texts(at(webhook, "rules.0.resources")), ElementsAre("pods"));
  EXPECT_THAT(texts(at(webhook, "rules.0.apiGroups")), ElementsAre(""));
}

TEST(Manifests, TheClustersOwnAndTheInjectorsNamespaceAreLeftAlone) {
  ClusterOptions given = options();
  given.name_space = "mesh";
  const auto documents = read(given);
  const Node webhook = at(documents.at("MutatingWebhookConfiguration"), "webhooks.0");

  const Node by_name = at(webhook, "namespaceSelector.matchExpressions.0");
  EXPECT_EQ(text(by_name, "key"), "kubernetes.io/metadata.name");
  EXPECT_EQ(text(by_name, "operator"), "NotIn");
  EXPECT_THAT(texts(at(by_name, "values")),
              ElementsAre("mesh", "kube-system", "kube-public", "kube-node-lease"));
  for (const char* selector :
       {"namespaceSelector.matchExpressions.1", "objectSelector.matchExpressions.0"}) {
    const Node by_label = at(webhook, selector);
    EXPECT_EQ(text(by_label, "key"), kInjectLabel) << selector;
    EXPECT_EQ(text(by_label, "operator"), "NotIn") << selector;
    EXPECT_THAT(texts(at(by_label, "values")), ElementsAre(std::string(kInjectDisabled)));
  }
  // A second line, should the selectors be lost.
  const Node container = at(documents.at("Deployment"), "spec.template.spec.containers.0");
  EXPECT_EQ(text(named(at(container, "env"), "HOLDFAST_INJECTOR_SKIP_NAMESPACES"), "value"),
            "mesh,kube-system,kube-public,kube-node-lease");
  const auto labels = pairs(at(documents.at("Namespace"), "metadata.labels"));
  EXPECT_EQ(labels.at(std::string(kInjectLabel)), kInjectDisabled);
}

TEST(Manifests, OptInAsksForALabel) {
  ClusterOptions given = options();
  given.opt_in = true;
  const Node webhook = at(read(given).at("MutatingWebhookConfiguration"), "webhooks.0");

  const Node by_label = at(webhook, "namespaceSelector.matchExpressions.1");
  EXPECT_EQ(text(by_label, "operator"), "In");
  EXPECT_THAT(texts(at(by_label, "values")), ElementsAre(std::string(kInjectEnabled)));
}

TEST(Manifests, OptionsGoWhereTheyBelong) {
  ClusterOptions given = options();
  given.image = "registry.example:5000/holdfast/holdfastd@sha256:0a";
  given.failure_policy = "Ignore";
  given.timeout_seconds = 30;
  given.replicas = 3;
  given.port = 19000;
  const auto documents = read(given);
  const Node webhook = at(documents.at("MutatingWebhookConfiguration"), "webhooks.0");
  const Node deployment = documents.at("Deployment");
  const Node container = at(deployment, "spec.template.spec.containers.0");

  EXPECT_EQ(text(webhook, "failurePolicy"), "Ignore");
  EXPECT_EQ(text(webhook, "timeoutSeconds"), "30");
  EXPECT_EQ(text(deployment, "spec.replicas"), "3");
  EXPECT_EQ(text(container, "image"), given.image);
  EXPECT_EQ(text(named(at(container, "env"), "HOLDFAST_INJECTOR_IMAGE"), "value"), given.image);
  EXPECT_EQ(text(named(at(container, "env"), "HOLDFAST_INJECTOR_PORT"), "value"), "19000");
  EXPECT_EQ(text(at(read(options()).at("Deployment"), "spec.template.spec.containers.0"), "image"),
            kDefaultImage);
}

TEST(Manifests, ASecretThatIsThereIsNotPrinted) {
  ClusterOptions given{.secret = "from-elsewhere", .ca = "authority"};

  const auto documents = read(given);

  EXPECT_FALSE(documents.contains("Secret"));
  EXPECT_EQ(text(documents.at("Deployment"), "spec.template.spec.volumes.0.secret.secretName"),
            "from-elsewhere");
  EXPECT_THAT(manifests(given), testing::Not(HasSubstr("@")));
}

TEST(Manifests, NoOptionCanChangeTheShapeOfADocument) {
  const auto refused = [](auto change) {
    ClusterOptions given = options();
    change(given);
    const Status status = check_options(given);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), testing::StartsWith("HF7156: --"));
  };
  for (const char* name : {"", "A", "a b", "-a", "a-", "a\"", "a\n", "a.b", "kube-system", "ä"}) {
    refused([&](ClusterOptions& o) { o.name_space = name; });
  }
  refused([](ClusterOptions& o) { o.name_space = std::string(64, 'a'); });
  for (const char* image : {"a b", "a\"\nx: y", "a'", "a\\", "a#b", "{a}"}) {
    refused([&](ClusterOptions& o) { o.image = image; });
  }
  refused([](ClusterOptions& o) { o.secret = "A B"; });
  for (const char* policy : {"", "fail", "Maybe"}) {
    refused([&](ClusterOptions& o) { o.failure_policy = policy; });
  }
  for (const int seconds : {0, 31, -1}) {
    refused([&](ClusterOptions& o) { o.timeout_seconds = seconds; });
  }
  refused([](ClusterOptions& o) { o.replicas = 0; });
  refused([](ClusterOptions& o) { o.port = 65'536; });
  refused([](ClusterOptions& o) { o.ca = ""; });
  refused([](ClusterOptions& o) { o.key = ""; });
  EXPECT_TRUE(check_options(options()).ok());
  // Words that YAML would take for something else.
  for (const char* name : {"true", "null", "1e3", "123"}) {
    ClusterOptions given = options();
    given.name_space = name;
    ASSERT_TRUE(check_options(given).ok()) << name;
    const Node read_name = at(read(given).at("Service"), "metadata.namespace");
    EXPECT_EQ(read_name.text, name);
    EXPECT_TRUE(read_name.quoted) << name;
  }
}

TEST(Manifests, TheServersNamesAreThoseOfTheService) {
  EXPECT_THAT(server_names("mesh"),
              ElementsAre("holdfast-injector.mesh.svc", "holdfast-injector.mesh.svc.cluster.local",
                          "holdfast-injector.mesh"));
  EXPECT_EQ(text(read(options()).at("Service"), "metadata.name"), "holdfast-injector");
}

}  // namespace
}  // namespace holdfast::inject
