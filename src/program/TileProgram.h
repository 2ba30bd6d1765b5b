/*=========================================================================
 *
 *  Copyright NumFOCUS
 *
 *  Licensed under the Apache License, Version 2.0 (the "License");
 *  you may not use this file except in compliance with the License.
 *  You may obtain a copy of the License at
 *
 *         https://www.apache.org/licenses/LICENSE-2.0.txt
 *
 *  Unless required by applicable law or agreed to in writing, software
 *  distributed under the License is distributed on an "AS IS" BASIS,
 *  WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 *  See the License for the specific language governing permissions and
 *  limitations under the License.
 *
 *=========================================================================*/
#ifndef TileProgram_h
#define TileProgram_h

#include "Extents.h"
#include "Window.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace cudamedian
{

/** A straight list of min and max operations that yields the window's wanted values for a tile of outputs, or, as a
 * phase of a program that is run by neighbouring tiles together (ProgramPhases.h), values for other phases.
 *
 * Values are numbered: 0 … GetNumberOfPixels()-1 are the pixels of the footprint, axis 0 fastest, then come values of
 * earlier phases, if any, up to GetNumberOfInputs()-1; instruction n defines value GetNumberOfInputs() + n. Each value
 * is defined once, before its first use. Backends decide where values live.
 */
class TileProgram
{
public:
  using Value = std::uint32_t;

  /** Two-input operations. */
  enum class Operation : std::uint8_t
  {
    Min,
    Max
  };

  /** Defines the next value by two others. */
  struct Instruction
  {
    Operation operation;
    Value     a;
    Value     b;
  };

  /** A program without instructions for the given window and tile, with inputs beside the footprint's pixels.
   * \throws std::invalid_argument when a radius is negative or a tile not positive. */
  TileProgram(const Window & window, const Extent & tile, std::size_t otherInputs = 0);

  const Window &
  GetWindow() const
  {
    return m_Window;
  }
  /** Outputs along each axis. */
  const Extent &
  GetTile() const
  {
    return m_Tile;
  }
  /** Inputs along each axis: window + tile - 1. The footprint starts at the tile's first pixel minus the radius. */
  const Extent &
  GetFootprint() const
  {
    return m_Footprint;
  }
  std::size_t
  GetNumberOfPixels() const
  {
    return static_cast<std::size_t>(Volume(m_Footprint));
  }
  std::size_t
  GetNumberOfInputs() const
  {
    return m_NumberOfInputs;
  }
  const std::vector<Instruction> &
  GetInstructions() const
  {
    return m_Instructions;
  }
  /** One value per pixel of the tile, axis 0 fastest, or a run of them where several ranks are found; none in a phase
   * before the last. */
  const std::vector<Value> &
  GetOutputs() const
  {
    return m_Outputs;
  }
  /** The values of a phase that later phases use. */
  const std::vector<Value> &
  GetExports() const
  {
    return m_Exports;
  }

  /** The input value at a position of the footprint. */
  Value
  InputAt(const Extent & position) const;

  /** Appends an operation and returns the value it defines. */
  Value
  Append(Operation operation, Value a, Value b);

  /** Sets the tile's outputs. \throws std::invalid_argument unless there are equally many for each pixel of the tile.
   */
  void
  SetOutputs(std::vector<Value> outputs);

  void
  SetExports(std::vector<Value> exports)
  {
    m_Exports = std::move(exports);
  }

  /** Drops every instruction that no output and no export depends on. Order is kept. */
  void
  RemoveDeadCode();

private:
  Window                   m_Window;
  Extent                   m_Tile;
  Extent                   m_Footprint;
  std::size_t              m_NumberOfInputs;
  std::vector<Instruction> m_Instructions;
  std::vector<Value>       m_Outputs;
  std::vector<Value>       m_Exports;
};

} // namespace cudamedian

#endif
