/**
 * A conformer with a CTC head (Gulati et al. 2020, arXiv 2005.08100) as an ONNX model of fixed random weights: its text means
 * nothing, its cost is that of a trained one of this size. Matrices are 8-bit in the form of dynamic quantisation
 * (DynamicQuantizeLinear, MatMulInteger), as published int8 models have them; convolutions, attention and norms are floats.
 */
import { createGraph, type Graph, type Value } from './graph.ts';
import type { Message } from './protobuf.ts';
import { createRandom, type Random } from './random.ts';

export type Shape = {
  readonly width: number;
  readonly layers: number;
  readonly heads: number;
  /** Bias of the blank's score: found by trial, so that some three tokens come a second, as in speech. */
  readonly blankBias: number;
  /** Seed of the weights. */
  readonly seed: number;
};

export const VOCABULARY = 500;
const FEATURES = 80;
const KERNEL = 31;
/** Width of the two convolutions in front, each of which halves time and features. */
const FRONT_WIDTH = 256;
const SUBSAMPLED_FEATURES = FEATURES / 4;
/** Models up to this width have a depthwise second convolution, wider ones a full one. */
const SLIM_WIDTH = 256;
/** Most frames after subsampling: 160 s of sound. */
const MAX_FRAMES = 4000;
const MASKED = -1e4;
const INT8_MAX = 127;

type Net = { readonly graph: Graph; readonly random: Random; readonly shape: Shape };

const bound = (fanIn: number): number => 1 / Math.sqrt(fanIn);

/** A dense layer with 8-bit weights on inputs that are made 8-bit at run time. */
const linear = ({ graph, random }: Net, input: Value, from: number, to: number, bias?: Float32Array): Value => {
  const [quantised, scale, zero] = graph.split('DynamicQuantizeLinear', [input], 3);
  const weights = graph.constant('int8', [from, to], random.int8s(from * to));
  const weightZero = graph.constant('int8', [], new Uint8Array(1));
  const product = graph.op('MatMulInteger', [quantised!, weights, zero!, weightZero]);
  const factor = graph.op('Mul', [scale!, graph.scalar(bound(from) / INT8_MAX)]);
  const floats = graph.op('Mul', [graph.op('Cast', [product], { to: 1 }), factor]);
  return graph.op('Add', [floats, graph.floats([to], bias ?? random.floats(to, bound(from)))]);
};

const norm = ({ graph, shape: { width } }: Net, input: Value): Value => {
  const ones = graph.floats([width], new Float32Array(width).fill(1));
  const zeros = graph.floats([width], new Float32Array(width));
  return graph.op('LayerNormalization', [input, ones, zeros], { axis: -1 });
};

const swish = ({ graph }: Net, input: Value): Value => graph.op('Mul', [input, graph.op('Sigmoid', [input])]);

const slice = ({ graph }: Net, input: Value, axis: number, from: Value, to: Value): Value =>
  graph.op('Slice', [input, from, to, graph.ints(axis)]);

const feedForward = (net: Net, input: Value): Value => {
  const { width } = net.shape;
  return linear(net, swish(net, linear(net, norm(net, input), width, 4 * width)), 4 * width, width);
};

/** What all blocks share: the positions' encoding, which frames are filling, and how many there are. */
type Frame = { readonly positions: Value; readonly filling: Value; readonly frames: Value };

const heads = ({ graph, shape }: Net, input: Value): Value => {
  const split = graph.op('Reshape', [input, graph.ints(0, -1, shape.heads, shape.width / shape.heads)]);
  return graph.op('Transpose', [split], { perm: [0, 2, 1, 3] });
};

/** Scores by distance as scores by place (Dai et al. 2019, arXiv 1901.02860, appendix B). */
const shift = (net: Net, scores: Value, frames: Value): Value => {
  const { graph } = net;
  const padded = graph.op('Pad', [scores, graph.ints(0, 0, 0, 1, 0, 0, 0, 0)]);
  const turned = graph.op('Reshape', [padded, graph.op('Concat', [graph.ints(0, 0, -1), frames], { axis: 0 })]);
  const cut = slice(net, turned, 2, graph.ints(1), graph.ints(MAX_FRAMES * 2));
  const back = graph.op('Reshape', [cut, graph.op('Concat', [graph.ints(0, 0), frames, graph.ints(-1)], { axis: 0 })]);
  return slice(net, back, 3, graph.ints(0), frames);
};

const attend = (net: Net, input: Value, { positions, filling, frames }: Frame): Value => {
  const { graph, random, shape } = net;
  const { width } = shape;
  const normed = norm(net, input);
  const [query, key, value] = ['q', 'k', 'v'].map(() => heads(net, linear(net, normed, width, width)));
  const places = heads(net, linear(net, positions, width, width));
  const biased = (): Value => {
    const bias = graph.floats([1, shape.heads, 1, width / shape.heads], random.floats(width, 0.1));
    return graph.op('Add', [query!, bias]);
  };
  const turned = (one: Value): Value => graph.op('Transpose', [one], { perm: [0, 1, 3, 2] });
  const byContent = graph.op('MatMul', [biased(), turned(key!)]);
  const byPlace = shift(net, graph.op('MatMul', [biased(), turned(places)]), frames);
  const scale = graph.scalar(1 / Math.sqrt(width / shape.heads));
  const scores = graph.op('Mul', [graph.op('Add', [byContent, byPlace]), scale]);
  const masked = graph.op('Where', [graph.op('Unsqueeze', [filling, graph.ints(1, 2)]), graph.scalar(MASKED), scores]);
  const mixed = graph.op('MatMul', [graph.op('Softmax', [masked], { axis: -1 }), value!]);
  const joined = graph.op('Transpose', [mixed], { perm: [0, 2, 1, 3] });
  return linear(net, graph.op('Reshape', [joined, graph.ints(0, -1, width)]), width, width);
};

const convolve = (net: Net, input: Value, { filling }: Frame): Value => {
  const { graph, random, shape } = net;
  const { width } = shape;
  const wide = linear(net, norm(net, input), width, 2 * width);
  const half = (from: number): Value => slice(net, wide, 2, graph.ints(from), graph.ints(from + width));
  const gated = graph.op('Mul', [half(0), graph.op('Sigmoid', [half(width)])]);
  const clean = graph.op('Where', [graph.op('Unsqueeze', [filling, graph.ints(2)]), graph.scalar(0), gated]);
  const kernel = graph.floats([width, 1, KERNEL], random.floats(width * KERNEL, bound(KERNEL)));
  const bias = graph.floats([width], random.floats(width, bound(KERNEL)));
  const pad = (KERNEL - 1) / 2;
  const along = graph.op('Transpose', [clean], { perm: [0, 2, 1] });
  const heard = graph.op('Conv', [along, kernel, bias], { kernel_shape: [KERNEL], pads: [pad, pad], group: width });
  return linear(net, graph.op('Transpose', [swish(net, heard)], { perm: [0, 2, 1] }), width, width);
};

const block = (net: Net, input: Value, frame: Frame): Value => {
  const { graph } = net;
  const add = (one: Value, other: Value): Value => graph.op('Add', [one, other]);
  const half = (one: Value): Value => graph.op('Mul', [one, graph.scalar(0.5)]);
  const first = add(input, half(feedForward(net, input)));
  const second = add(first, attend(net, first, frame));
  const third = add(second, convolve(net, second, frame));
  return norm(net, add(third, half(feedForward(net, third))));
};

/** Features of 10 ms to frames of 40 ms. */
const subsample = (net: Net, input: Value): Value => {
  const { graph, random, shape } = net;
  const group = shape.width <= SLIM_WIDTH ? FRONT_WIDTH : 1;
  const step = (one: Value, channels: number, groups: number): Value => {
    const fanIn = 9 * (channels / groups);
    const weights = graph.floats(
      [FRONT_WIDTH, channels / groups, 3, 3],
      random.floats(FRONT_WIDTH * fanIn, bound(fanIn)),
    );
    const bias = graph.floats([FRONT_WIDTH], random.floats(FRONT_WIDTH, bound(fanIn)));
    const attributes = { kernel_shape: [3, 3], strides: [2, 2], pads: [1, 1, 1, 1], group: groups };
    return graph.op('Relu', [graph.op('Conv', [one, weights, bias], attributes)]);
  };
  // Logarithms of energies lie about -6 here; trained models learn their own range.
  const centred = graph.op('Mul', [graph.op('Add', [input, graph.scalar(6)]), graph.scalar(0.25)]);
  const image = graph.op('Unsqueeze', [centred, graph.ints(1)]);
  const small = step(step(image, 1, 1), FRONT_WIDTH, group);
  const along = graph.op('Transpose', [small], { perm: [0, 2, 1, 3] });
  const width = FRONT_WIDTH * SUBSAMPLED_FEATURES;
  return linear(net, graph.op('Reshape', [along, graph.ints(0, -1, width)]), width, shape.width);
};

/** Sines and cosines of the distances from MAX_FRAMES - 1 down to 1 - MAX_FRAMES (Vaswani et al. 2017, §3.5). */
const positionTable = (width: number): Float32Array => {
  const rows = 2 * MAX_FRAMES - 1;
  const table = new Float32Array(rows * width);
  for (let column = 0; column < width; column += 2) {
    const rate = Math.exp(-(Math.log(10_000) * column) / width);
    for (let row = 0; row < rows; row += 1) {
      const angle = (MAX_FRAMES - 1 - row) * rate;
      table[row * width + column] = Math.sin(angle);
      table[row * width + column + 1] = Math.cos(angle);
    }
  }
  return table;
};

const frameOf = (net: Net, input: Value, lengths: Value): Frame => {
  const { graph, shape } = net;
  const frames = graph.op('Gather', [graph.op('Shape', [input]), graph.ints(1)]);
  const table = graph.floats([1, 2 * MAX_FRAMES - 1, shape.width], positionTable(shape.width));
  const longest = graph.ints(MAX_FRAMES);
  const from = graph.op('Sub', [longest, frames]);
  const to = graph.op('Sub', [graph.op('Add', [longest, frames]), graph.ints(1)]);
  const places = graph.ints(...Array.from({ length: MAX_FRAMES }, (_, place) => place));
  const numbers = graph.op('Unsqueeze', [slice(net, places, 0, graph.ints(0), frames), graph.ints(0)]);
  const filling = graph.op('GreaterOrEqual', [numbers, graph.op('Unsqueeze', [lengths, graph.ints(1)])]);
  return { positions: slice(net, table, 1, from, to), filling, frames };
};

/** The model in sherpa-onnx's zipformer_ctc form: `x` N × frames × 80 and `x_lens` in, log probabilities and lengths out. */
export const writeConformer = (shape: Shape): Message => {
  const graph = createGraph();
  const net: Net = { graph, random: createRandom(shape.seed), shape };
  const lengths = graph.op('Div', [graph.op('Add', ['x_lens', graph.ints(3)]), graph.ints(4)]);
  let frames = subsample(net, 'x');
  const frame = frameOf(net, frames, lengths);
  for (let layer = 0; layer < shape.layers; layer += 1) frames = block(net, frames, frame);
  const bias = net.random.floats(VOCABULARY, bound(shape.width));
  bias[0] = shape.blankBias;
  const logProbs = graph.op('LogSoftmax', [linear(net, frames, shape.width, VOCABULARY, bias)], { axis: -1 });
  return graph.finish(
    [
      { name: 'x', element: 'float', shape: ['N', 'T', FEATURES] },
      { name: 'x_lens', element: 'int64', shape: ['N'] },
    ],
    [
      { name: logProbs, element: 'float', shape: ['N', 'S', VOCABULARY] },
      { name: lengths, element: 'int64', shape: ['N'] },
    ],
    { model_type: 'zipformer2_ctc', version: '1', vocab_size: String(VOCABULARY) },
  );
};
