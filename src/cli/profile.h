// What `holdfast login` leaves for the commands after it: which controller, whom to believe, and
// who we are. A folder with
//
//   ca.pem         certificates of the cluster's authority
//   identity.pem   our private key, then our certificate (0600)
//   profile.yaml   server, cluster and user
//   proxies        where `holdfast connect` found proxies, for when no controller answers
#pragma once

#include <string>

#include "base/result.h"

namespace holdfast::cli {

struct Profile {
  std::string server{};
  std::string cluster{};
  std::string user{};
  std::string ca_pem{};
  std::string private_key_pem{};
  std::string certificate_pem{};
  bool open_to_others = false;  // its private key
};

// $XDG_CONFIG_HOME/holdfast, or ~/.config/holdfast; empty if neither is known.
std::string default_profile_dir();

// kNotFound if there is none; kInvalidArgument, naming the file, if it cannot be used.
Result<Profile> load_profile(const std::string& folder);
Status save_profile(const std::string& folder, const Profile& profile);
// False if there was none.
Result<bool> remove_profile(const std::string& folder);

// The private key and the certificates of one PEM text. kInvalidArgument if either is missing.
struct KeyAndCertificate {
  std::string private_key_pem;
  std::string certificate_pem;
};
Result<KeyAndCertificate> split_identity(const std::string& pem);

}  // namespace holdfast::cli
