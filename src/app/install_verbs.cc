// The verb that prints what runs in a cluster of Kubernetes: install k8s.
#include "app/command_line.h"

namespace holdfast::app {
namespace {

void add_certificate_options(CLI::App& command, cli::InstallOptions& options) {
  command.add_option("--ca-file", options.ca_file,
                     "PEM by which API servers trust the injector (default: one is made)");
  command.add_option("--certificate-file", options.certificate_file,
                     "PEM of the injector's certificate, printed as a Secret");
  command.add_option("--key-file", options.key_file, "PEM of its key, printed as well");
  command.add_option("--existing-secret", options.existing_secret,
                     "Secret in the namespace that has both, as cert-manager makes it");
  command.add_option("--days", options.days, "how long a certificate that is made here is good")
      ->capture_default_str();
}

}  // namespace

void add_install_verbs(CLI::App& app, CommandLine& line) {
  CLI::App* install = app.add_subcommand("install", "print what runs in other systems");
  install->require_subcommand(1);
  CLI::App* k8s = install->add_subcommand(
      "k8s",
      "print the manifests of the injector for a cluster of Kubernetes\n"
      "  holdfast install k8s --print --image registry.example/holdfastd:1.2 | kubectl apply -f -\n"
      "  holdfast install k8s --print --failure-policy Ignore --opt-in\n"
      "  holdfast install k8s --print --ca-file ca.pem --existing-secret injector-tls\n"
      "Without certificate options an authority is made, signs the injector's certificate and is\n"
      "forgotten; certificate and key are printed as a Secret, so mind where the output goes.\n"
      "With --failure-policy Fail no pod starts while the injector does not answer; with Ignore\n"
      "pods start with their probes as they are. See docs/kubernetes.md.");
  cli::InstallOptions& options = line.install;
  inject::ClusterOptions& manifests = options.manifests;
  k8s->add_flag("--print", options.print, "on stdout; nothing else is offered");
  k8s->add_option("--namespace", manifests.name_space, "where the injector runs")
      ->capture_default_str();
  k8s->add_option("--image", manifests.image,
                  "of the injector and of the sidecars (default: holdfast/holdfastd:latest)");
  k8s->add_option("--failure-policy", manifests.failure_policy, "Fail or Ignore")
      ->capture_default_str();
  k8s->add_option("--timeout-seconds", manifests.timeout_seconds,
                  "how long an API server waits for an answer, 1 to 30")
      ->capture_default_str();
  k8s->add_option("--replicas", manifests.replicas, "of the injector")->capture_default_str();
  k8s->add_option("--port", manifests.port, "of the probe handler in pods")->capture_default_str();
  k8s->add_flag("--opt-in", manifests.opt_in,
                "only namespaces with the label holdfast.dev/inject=enabled");
  add_certificate_options(*k8s, options);
  line.on(k8s, [&line](const cli::Console& console) {
    return cli::install_kubernetes(console, line.install);
  });
}

}  // namespace holdfast::app
