// A node's identity as it is used: key and certificate, what it trusts, and what follows from them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "identity/certificate.h"
#include "identity/identity.h"

namespace holdfast::node {

// A value that holds together: made by make_held() only.
struct HeldIdentity {
  std::string private_key_pem;
  std::string certificate_pem;
  std::string ca_pem;
  identity::Identity who{};
  identity::Validity validity{};
  std::vector<std::string> trusted_pins{};
  std::string issuer_pin{};  // empty if it is not trusted itself: of an authority that is gone
};

// What it is made of, as files and answers have it.
struct IdentityPems {
  std::string private_key;
  std::string certificate;
  std::string ca;
};
// The key and the certificates of one text.
IdentityPems split_identity(std::string_view pem);

// kInvalidArgument if a part is not what it should be, the certificate is no node's or for another
// key. One that has run out is held all the same: the keeper says so.
Result<HeldIdentity> make_held(const IdentityPems& pems);

// The same node trusting others. kInvalidArgument as above.
Result<HeldIdentity> with_bundle(const HeldIdentity& held, const std::string& ca_pem);
// The same node with a new key and certificate. kInvalidArgument also if they are another node's.
Result<HeldIdentity> with_certificate(const HeldIdentity& held, const IdentityPems& pems);

}  // namespace holdfast::node
