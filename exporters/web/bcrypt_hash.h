#pragma once

#include <string>

namespace fa_profile {

/// What keeps `hash` from being a bcrypt hash that this server takes ("is not bcrypt's"), or an empty string.
std::string ProblemOfBcryptHash(const std::string& hash);

/// Whether `password` has that hash. Takes about 0.1 s at cost 10 and twice that with each step of the cost.
bool BcryptMatches(const std::string& password, const std::string& hash);

}  // namespace fa_profile
