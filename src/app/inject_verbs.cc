// The verb on pods: inject.
#include "app/command_line.h"

namespace holdfast::app {

void add_inject_verbs(CLI::App& app, CommandLine& line) {
  CLI::App* inject = app.add_subcommand(
      "inject",
      "let the probes of pods go through the probe handler\n"
      "  holdfast inject -f web.yaml | kubectl apply -f -\n"
      "  holdfast inject -f web.yaml --diff\n"
      "  kubectl get deployment web -o yaml | holdfast inject -f - --uninject\n"
      "Takes YAML and JSON, several documents: Pod, Deployment, StatefulSet, DaemonSet,\n"
      "ReplicaSet, Job, CronJob, List; all others are printed as they are. What does not change\n"
      "keeps every byte, comments too; a second run changes nothing. No controller is asked.\n"
      "Exit status 2: all was printed, and there were warnings, each with its code, on stderr;\n"
      "--fail-on failure makes that 0. If a file is refused (65), nothing is printed.");
  inject->add_option("-f,--file", line.inject.files, "files to read; - is standard input")
      ->required()
      ->expected(1)
      ->take_all();
  inject->add_flag("--diff", line.inject.diff, "print what would change instead");
  inject->add_flag("--uninject", line.inject.manifest.undo, "take away what inject did");
  inject
      ->add_option("--port", line.inject.manifest.inject.port,
                   "of the handler, where a pod's annotation says nothing else; 0: leave probes as "
                   "they are and keep their ports from being redirected (default: 9000)")
      ->check(CLI::Range(0, 65535));
  inject->add_option(
      "--image", line.inject.manifest.inject.image,
      std::string("of the sidecar (default: ") + holdfast::inject::kDefaultImage + ")");
  inject->add_option("--sidecar", line.inject.manifest.inject.sidecar,
                     "name of the sidecar (default: holdfast-sidecar)");
  add_choice<bool>(*inject, "--fail-on", line.inject.fail_on_warning,
                   {{"failure", false}, {"warning", true}},
                   "exit status 2 after warnings, or only if a file is refused (default: warning)");
  line.on(inject, [&line](const cli::Console& console) {
    return cli::inject_probes(console, line.inject);
  });
}

}  // namespace holdfast::app
