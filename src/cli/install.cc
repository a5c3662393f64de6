#include "cli/install.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/private_file.h"
#include "base/reason.h"
#include "cli/output.h"
#include "identity/certificate.h"

namespace holdfast::cli {
namespace {

constexpr const char* kAuthority = "holdfast-injector";
constexpr std::chrono::hours kBefore(1);  // clocks of API servers may be behind

Status wrong_option(std::string_view message) {
  return coded(absl::StatusCode::kInvalidArgument, "HF7156", message);
}

// The authority's key is used once and forgotten: it can sign nothing else, ever.
Status make_certificate(int days, inject::ClusterOptions& manifests) {
  if (days < 1 || days > 36'500) return wrong_option("--days: from 1 to 36500");
  const WallTime now = SystemClock().wall_now();
  const identity::Validity validity{.not_before = now - kBefore,
                                    .not_after = now + std::chrono::hours(24) * days};
  TRY(const identity::SigningKey authority, identity::make_authority(kAuthority, validity));
  TRY(const identity::SigningKey server,
      identity::make_server(authority, inject::server_names(manifests.name_space), validity));
  manifests.ca = authority.certificate_pem;
  manifests.certificate = server.certificate_pem;
  manifests.key = server.private_key_pem;
  return absl::OkStatus();
}

Status read_ca_bundle(const InstallOptions& options, inject::ClusterOptions& manifests) {
  TRY(manifests.ca, read_small_file(options.ca_file));
  TRY_OK(annotate(identity::validity_of(manifests.ca).status(), "--ca-file"));
  if (!options.existing_secret.empty()) return absl::OkStatus();
  TRY(manifests.certificate, read_small_file(options.certificate_file));
  TRY(manifests.key, read_small_file(options.key_file));
  TRY_OK(annotate(identity::check_key(manifests.certificate, manifests.key), "--certificate-file"));
  const Status believed = identity::check_server({manifests.certificate, manifests.ca},
                                                 inject::server_names(manifests.name_space).front(),
                                                 SystemClock().wall_now());
  if (believed.ok()) return absl::OkStatus();
  return coded(absl::StatusCode::kInvalidArgument, "HF7158",
               fmt::format("--certificate-file: no API server would believe it: {}",
                           std::string(believed.message())));
}

// A certificate that API servers believe, its own authority.
std::string how_to_make(const std::string& name_space) {
  return fmt::format(
      "let your authority sign one with that name, or make one that is its own (--ca-file too): "
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 "
      "-subj /CN=holdfast-injector -addext subjectAltName=DNS:{} -keyout tls.key -out tls.crt",
      inject::server_names(name_space).front());
}

// Which of the three ways: made here, from files, or in the cluster already.
Status check_sources(const InstallOptions& options) {
  const bool files = !options.certificate_file.empty() || !options.key_file.empty();
  const bool both = !options.certificate_file.empty() && !options.key_file.empty();
  const bool secret = !options.existing_secret.empty();
  if (files && !both) return wrong_option("--certificate-file and --key-file go together");
  if (files && secret) return wrong_option("give files, or --existing-secret, not both");
  if (options.ca_file.empty() == (files || secret)) {
    return wrong_option(
        "--ca-file goes with --certificate-file and --key-file, or with --existing-secret; without "
        "all of them a certificate is made");
  }
  return absl::OkStatus();
}

Result<inject::ClusterOptions> prepare(const InstallOptions& options) {
  inject::ClusterOptions manifests = options.manifests;
  if (!options.print) {
    return wrong_option(
        "only printing is offered: add --print, and hand the output to kubectl apply -f -");
  }
  TRY_OK(check_sources(options));
  const bool make = options.ca_file.empty();
  if (!options.existing_secret.empty()) manifests.secret = options.existing_secret;
  // Names first: what is wrong with them would only show as a certificate that cannot be made.
  manifests.ca = "to come";
  TRY_OK(inject::check_options(manifests));
  TRY_OK(make ? make_certificate(options.days, manifests) : read_ca_bundle(options, manifests));
  TRY_OK(inject::check_options(manifests));
  return manifests;
}

}  // namespace

Exit install_kubernetes(const Console& console, const InstallOptions& options) {
  const Result<inject::ClusterOptions> manifests = prepare(options);
  if (!manifests.ok()) {
    const Reason reason = split_reason(manifests.status());
    const std::string code(reason.code.empty() ? "HF6001" : reason.code);
    return console.report({code == "HF7156" ? Exit::Usage : Exit::BadInput, code,
                           std::string(reason.message),
                           code == "HF7158" ? how_to_make(options.manifests.name_space)
                                            : "see `holdfast install k8s --help`"});
  }
  if (!manifests->key.empty()) {
    print_err(
        "warning: the output holds the injector's private key (Secret); do not keep it where "
        "others can read it\n");
  }
  print_out(inject::manifests(*manifests));
  return Exit::Ok;
}

}  // namespace holdfast::cli
