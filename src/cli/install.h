// `holdfast install k8s --print`: the manifests that run the injector in a cluster, on stdout. It
// talks to no cluster; `kubectl apply -f -` does.
#pragma once

#include <string>

#include "cli/console.h"
#include "cli/errors.h"
#include "inject/cluster_manifests.h"

namespace holdfast::cli {

struct InstallOptions {
  inject::ClusterOptions manifests{};
  bool print = false;
  std::string ca_file{};           // with one of the next two; without it all three are made
  std::string certificate_file{};  // with key_file
  std::string key_file{};
  std::string existing_secret{};  // that has certificate and key; none is printed
  int days = 3650;                // of a certificate that is made
};

Exit install_kubernetes(const Console& console, const InstallOptions& options);

}  // namespace holdfast::cli
