"""100,000 launches of small kernels from four threads, each on its own stream.

    fa-profile -- python3 bench/programs/launches.py

It prints the time of a launch and a checksum. Needs PyTorch and a GPU.
"""

import threading
import time

import torch

THREADS, LAUNCHES = 4, 25000


def main():
    numbers = [torch.ones(4096, device="cuda") for _ in range(THREADS)]
    torch.cuda.synchronize()

    def work(index):
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(LAUNCHES):
                numbers[index].mul_(1.00001)
            torch.cuda.current_stream().synchronize()

    threads = [threading.Thread(target=work, args=(index,)) for index in range(THREADS)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - start
    checksum = sum(tensor.double().sum().item() for tensor in numbers)
    print(f"launch {seconds / (THREADS * LAUNCHES) * 1e6:.2f} us, checksum {checksum:.6f}")


if __name__ == "__main__":
    main()
