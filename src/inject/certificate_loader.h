// The files of a certificate and its key, read again when they change. A pair that does not fit, as
// one that is being written, is not taken: the one in use stays, and what is wrong is kept to be
// shown.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace holdfast::inject {

struct CertificateFiles {
  std::string certificate{};  // the chain, PEM
  std::string key{};
};

class CertificateLoader {
 public:
  // Takes a pair into use and says when it ends; a failure means that the one before is still used.
  using Use = std::function<Result<WallTime>(const CertificateFiles& texts)>;
  enum class Looked { Same, Used, Refused };

  CertificateLoader(CertificateFiles paths, Use use);

  // Reads both files. Refused only the first time that the same texts, or the same failure to read
  // them, are seen.
  Looked look();
  // Why what is in the files is not what is in use.
  const Status& problem() const { return problem_; }
  // When the pair in use ends; absent if there was none yet.
  std::optional<WallTime> ends() const { return ends_; }

 private:
  Result<CertificateFiles> read() const;
  Looked refuse(Status why);

  CertificateFiles paths_;
  Use use_;
  CertificateFiles tried_;
  Status problem_;
  std::optional<WallTime> ends_;
};

}  // namespace holdfast::inject
