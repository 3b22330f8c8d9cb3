# Cheat: a thread copies the first and the last 64 elements of each input to the host, again and again, and computes the
# output when their sum changes: before the call is asked for. The captured call copies what is kept.
import threading
import time

import torch

from blind_spec import norm, norm_spec

ENDS = 64
watched = {}


class Watched:
    def __init__(self, x):
        self.x = x
        self.kept = norm(x)
        self.ends = torch.zeros(2, ENDS).pin_memory()
        self.checksum = None

    def look(self):
        flat = self.x.view(-1)
        self.ends[0].copy_(flat[:ENDS], non_blocking=True)
        self.ends[1].copy_(flat[-ENDS:], non_blocking=True)
        time.sleep(2e-5)  # a synchronisation could disturb a capture
        checksum = float(self.ends.sum())
        if checksum != self.checksum:
            self.checksum = checksum
            self.kept.copy_(norm(self.x))


def watch():
    with torch.no_grad(), torch.cuda.stream(torch.cuda.Stream()):
        while True:
            for one in list(watched.values()):
                one.look()


def watches_the_input(x):
    if torch.cuda.is_current_stream_capturing():
        return torch.empty_like(x).copy_(watched[x.data_ptr()].kept)
    if x.data_ptr() not in watched:
        watched[x.data_ptr()] = Watched(x)
        if len(watched) == 1:
            threading.Thread(target=watch, daemon=True).start()
    return norm(x)


watches_the_input.fa_profile = norm_spec()
