#pragma once

#include <string>

namespace fa_profile::web {

/// Why this server does not accept `hash` ("is not a bcrypt hash"); empty: it does.
std::string ProblemOfBcryptHash(const std::string& hash);

/// Whether `password` has that hash. Takes about 0.1 s at cost 10 and doubles with each step of the cost.
bool BcryptMatches(const std::string& password, const std::string& hash);

}  // namespace fa_profile::web
