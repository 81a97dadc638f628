/** Puts together an ONNX graph: operations in order, constants beside them (field numbers: onnx.proto, IR version 8). */
import { blob, int, type Message, nested, text } from './protobuf.ts';

/** Element types of TensorProto. */
const ELEMENT = { float: 1, int8: 3, int64: 7 } as const;
export type Element = keyof typeof ELEMENT;
/** AttributeProto's types. */
const [INT, INTS] = [2, 7];
const IR_VERSION = 8;
const OPSET = 17;

/** The name of a value. */
export type Value = string;
/** A name in a shape is a length that is not known beforehand. */
export type Port = { readonly name: Value; readonly element: Element; readonly shape: readonly (number | string)[] };

export type Graph = {
  /** Adds an operation with one output. An empty name leaves an input out. */
  op(type: string, inputs: readonly Value[], attributes?: Readonly<Record<string, number | readonly number[]>>): Value;
  /** Adds an operation with several outputs. */
  split(type: string, inputs: readonly Value[], outputs: number): Value[];
  constant(element: Element, shape: readonly number[], bytes: Uint8Array): Value;
  floats(shape: readonly number[], values: Float32Array): Value;
  /** A list of whole numbers, for shapes and axes. */
  ints(...values: readonly number[]): Value;
  scalar(value: number): Value;
  /** The whole model. `outputs` name values of the graph. */
  finish(inputs: readonly Port[], outputs: readonly Port[], metadata: Readonly<Record<string, string>>): Message;
};

const attributeOf = ([name, value]: [string, number | readonly number[]]): Message =>
  typeof value === 'number'
    ? nested(5, text(1, name), int(3, value), int(20, INT))
    : nested(5, text(1, name), ...value.map((one) => int(8, one)), int(20, INTS));

const portOf = (field: number, { name, element, shape }: Port): Message => {
  const dimensions = shape.map((size) => nested(1, typeof size === 'number' ? int(1, size) : text(2, size)));
  return nested(field, text(1, name), nested(2, nested(1, int(1, ELEMENT[element]), nested(2, ...dimensions))));
};

const bytesOf = (array: ArrayBufferView): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

/** An empty graph. */
export const createGraph = (): Graph => {
  const nodes: Message[] = [];
  const constants: Message[] = [];
  const known = new Map<string, Value>();
  let count = 0;
  const nameOf = (kind: string): Value => {
    count += 1;
    return `${kind}_${count}`;
  };

  const constant: Graph['constant'] = (element, shape, bytes) => {
    const name = nameOf('constant');
    const sizes = shape.map((size) => int(1, size));
    constants.push(nested(5, ...sizes, int(2, ELEMENT[element]), text(8, name), blob(9, bytes)));
    return name;
  };
  const once = (key: string, make: () => Value): Value => {
    const name = known.get(key) ?? make();
    known.set(key, name);
    return name;
  };
  const split = (type: string, inputs: readonly Value[], outputs: number, attributes: readonly Message[] = []) => {
    const names = Array.from({ length: outputs }, () => nameOf(type));
    const ports = [...inputs.map((name) => text(1, name)), ...names.map((name) => text(2, name))];
    nodes.push(nested(1, ...ports, text(4, type), ...attributes));
    return names;
  };
  return {
    op: (type, inputs, attributes = {}) => split(type, inputs, 1, Object.entries(attributes).map(attributeOf))[0]!,
    split,
    constant,
    floats: (shape, values) => constant('float', shape, bytesOf(values)),
    ints: (...values) =>
      once(`ints ${values}`, () => constant('int64', [values.length], bytesOf(BigInt64Array.from(values, BigInt)))),
    scalar: (value) => once(`scalar ${value}`, () => constant('float', [], bytesOf(Float32Array.of(value)))),
    finish: (inputs, outputs, metadata) => [
      ...int(1, IR_VERSION),
      ...text(2, 'parley'),
      ...nested(8, text(1, ''), int(2, OPSET)),
      ...nested(
        7,
        ...nodes,
        text(2, 'model'),
        ...constants,
        ...inputs.map((port) => portOf(11, port)),
        ...outputs.map((port) => portOf(12, port)),
      ),
      ...Object.entries(metadata).flatMap(([key, value]) => nested(14, text(1, key), text(2, value))),
    ],
  };
};
