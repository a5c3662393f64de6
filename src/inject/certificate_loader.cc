#include "inject/certificate_loader.h"

#include <fmt/format.h>

#include <utility>

#include "base/private_file.h"
#include "base/reason.h"

namespace holdfast::inject {

CertificateLoader::CertificateLoader(CertificateFiles paths, Use use)
    : paths_(std::move(paths)), use_(std::move(use)) {}

Result<CertificateFiles> CertificateLoader::read() const {
  CertificateFiles texts;
  TRY(texts.certificate, read_file(paths_.certificate, kMaxPrivateFileBytes));
  TRY(texts.key, read_file(paths_.key, kMaxPrivateFileBytes));
  return texts;
}

CertificateLoader::Looked CertificateLoader::refuse(Status why) {
  const bool known = problem_.message() == why.message();
  problem_ = std::move(why);
  return known ? Looked::Same : Looked::Refused;
}

CertificateLoader::Looked CertificateLoader::look() {
  const Result<CertificateFiles> texts = read();
  if (!texts.ok()) {
    tried_ = {};  // the same texts may be back later
    return refuse(coded(absl::StatusCode::kUnavailable, "HF7151",
                        fmt::format("the certificate or its key cannot be read: {}",
                                    split_reason(texts.status()).message)));
  }
  if (texts->certificate == tried_.certificate && texts->key == tried_.key) return Looked::Same;
  tried_ = *texts;
  const Result<WallTime> ends = use_(*texts);
  if (!ends.ok()) {
    problem_ = {};
    return refuse(coded(absl::StatusCode::kFailedPrecondition, "HF7152",
                        fmt::format("the certificate and key in the files are not used: {}",
                                    split_reason(ends.status()).message)));
  }
  problem_ = {};
  ends_ = *ends;
  return Looked::Used;
}

}  // namespace holdfast::inject
