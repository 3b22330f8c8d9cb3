#pragma once

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace fa_profile {

/// A thread that takes no signals: inside another program they are for the program's threads.
template <typename Body>
std::thread StartQuietThread(Body&& body) {
  sigset_t all;
  sigset_t before;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  try {
    thread = std::thread(std::forward<Body>(body));
  } catch (...) {
    (void)pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  (void)pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace fa_profile
