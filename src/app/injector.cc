#include "app/injector.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/reason.h"
#include "identity/certificate.h"
#include "inject/translate.h"

namespace holdfast::app {
namespace {

constexpr Duration kLookPeriod = std::chrono::seconds(1);

inject::WebhookOptions options_of(const config::InjectorSection& config) {
  inject::WebhookOptions options{.listen = config.listen, .health_listen = config.health_listen};
  options.review.inject = {.port = static_cast<uint16_t>(config.port),
                           .enabled = config.enabled,
                           .image = config.image,
                           .sidecar = config.sidecar};
  options.review.skipped_namespaces = config.skip_namespaces;
  options.max_connections = config.limits.connections;
  options.max_reviews = config.limits.reviews;
  return options;
}

}  // namespace

Injector::Injector(const asio::any_io_executor& loop, const Clock& clock,
                   const config::InjectorSection& config, const std::string& version)
    : clock_(clock),
      registry_({.version = version}),
      reloads_(registry_.counter(
          {.name = "holdfast_injector_certificates_total",
           .help = "Pairs of certificate and key found in the files, by outcome."})),
      ends_(registry_
                .gauge({.name = "holdfast_injector_certificate_end_seconds",
                        .help = "When the certificate in use ends, in seconds since 1970."})
                .with()),
      webhook_(loop, {.clock = clock, .registry = registry_}, inject::translate,
               options_of(config)),
      options_(inject::check_options(options_of(config).review.inject)),
      certificate_({.certificate = config.certificate_file, .key = config.key_file},
                   [this](const inject::CertificateFiles& texts) { return use(texts); }),
      tasks_(loop) {}

Result<WallTime> Injector::use(const inject::CertificateFiles& texts) {
  TRY(const identity::Validity validity, identity::validity_of(texts.certificate));
  if (validity.not_after <= clock_.wall_now()) {
    return absl::FailedPreconditionError("the certificate has ended already");
  }
  TRY_OK(webhook_.set_tls(texts.certificate, texts.key));
  return validity.not_after;
}

Result<std::vector<std::string>> Injector::listen() {
  TRY_OK(options_);
  look();
  if (!certificate_.ends()) return certificate_.problem();
  return webhook_.listen();
}

void Injector::look() {
  using Looked = inject::CertificateLoader::Looked;
  const Looked looked = certificate_.look();
  if (looked == Looked::Used) {
    reloads_.with({{"outcome", "used"}}).add();
    log::info("certificate in use", {{"ends", to_rfc3339(*certificate_.ends())}});
  } else if (looked == Looked::Refused) {
    reloads_.with({{"outcome", "refused"}}).add();
    const Reason why = split_reason(certificate_.problem());
    log::error("the certificate's files are wrong; what was in use stays",
               {{"code", why.code}, {"why", why.message}});
  }
  show();
}

void Injector::say_goodbye() {
  leaving_ = true;
  webhook_.set_trouble(
      coded(absl::StatusCode::kUnavailable, "HF7157", "the injector was told to stop"));
}

void Injector::on_configuration(Status read) {
  configuration_ = std::move(read);
  show();
}

void Injector::show() {
  webhook_.set_warning(certificate_.problem().ok() ? configuration_ : certificate_.problem());
  if (!certificate_.ends() || leaving_) return;
  const WallTime ends = *certificate_.ends();
  ends_.set(std::chrono::duration<double>(ends.time_since_epoch()).count());
  const bool ended = ends <= clock_.wall_now();
  const Status trouble = coded(absl::StatusCode::kFailedPrecondition, "HF7155",
                               fmt::format("the certificate ended {}", to_rfc3339(ends)));
  if (ended && !ended_) {
    log::error("the certificate has ended; no API server trusts it", {{"code", "HF7155"}});
  }
  ended_ = ended;
  webhook_.set_trouble(ended ? trouble : absl::OkStatus());
}

asio::awaitable<void> Injector::tick() {
  for (;;) {
    const bool slept = co_await net::pause(kLookPeriod);
    if (!slept) co_return;
    look();
  }
}

asio::awaitable<void> Injector::stop() {
  co_await tasks_.join();
  co_await webhook_.stop();
}

}  // namespace holdfast::app
