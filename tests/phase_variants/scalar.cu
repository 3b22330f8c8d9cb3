// No matrix instructions.
#include "register_tile.cuh"
#include "row_thread.cuh"
#include "row_warp.cuh"

namespace phase_variants {
namespace {

using register_tile::RegisterTile;
using row_thread::RowThread;
using row_warp::RowWarp;
VARIANT(v_row_thread, RowThread, )
VARIANT(v_row_thread_half_chunk16, RowThread, WITH kFloatTiles = false; WITH kChunk = 16; WITH kThreads = 32;)
VARIANT(v_row_thread_causal, RowThread, WITH kCausal = true; WITH kChunk = 4; WITH kThreads = 128;)
VARIANT(v_row_thread_expf, RowThread, WITH kExp = Exp::kExpf; WITH kFloatTiles = false; WITH kKeys = 64;)
VARIANT(v_row_warp, RowWarp, )
VARIANT(v_row_warp_d128_causal, RowWarp, WITH kHeadDim = 128; WITH kCausal = true; WITH kChunk = 8;)
VARIANT(v_row_warp_one_key, RowWarp, WITH kChunk = 1; WITH kWarps = 8; WITH kExp = Exp::kFast;)
VARIANT(v_register_tile, RegisterTile, )
VARIANT(v_register_tile64, RegisterTile, WITH kTile = 64; WITH kQkUnroll = 2; WITH kPvUnroll = 8;)
VARIANT(v_register_tile_causal, RegisterTile, WITH kCausal = true; WITH kTransposedK = true; WITH kQkUnroll = 8;)
VARIANT(v_register_tile_d128, RegisterTile, WITH kHeadDim = 128; WITH kTransposedK = true; WITH kPvUnroll = 1;)

}  // namespace
}  // namespace phase_variants
