/**
 * The drawing of a script: elements are dragged, transfers drawn from the edge of one element to another, both taken away with
 * the Delete key. What it changes it tells; the objects are the caller's.
 */
import {
  applyNodeChanges,
  type Connection,
  Controls,
  type Edge,
  type EdgeChange,
  MarkerType,
  type NodeChange,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
} from '@xyflow/react';
import '@xyflow/react/dist/base.css';
import { useEffect, useMemo, useState } from 'react';
import { createTexts, useLanguage } from '../../shared/i18n.tsx';
import type { ScriptObject } from './declared.ts';
import { ElementNode, type FlowNode, IN, type Visit } from './element-node.tsx';
import { heightOf, NODE_WIDTH, type Point, placesOf, type TypesById, transfersOf } from './graph.ts';
import { titleOf } from './texts.ts';

const useTexts = createTexts({
  en: {
    graph: 'Graph of the script',
    leads: (from: string, path: string, to: string) => `${path} of ${from} leads to ${to}`,
    zoomIn: 'Zoom in',
    zoomOut: 'Zoom out',
    fit: 'Show everything',
    controls: 'View',
    node: 'Enter chooses the element, the arrow keys move it, Delete removes it.',
    edge: 'Enter chooses the transfer, Delete removes it.',
    moved: (x: number, y: number) => `Moved to ${x}, ${y}`,
  },
  ru: {
    graph: 'Граф сценария',
    leads: (from: string, path: string, to: string) => `${path} элемента ${from} ведёт к ${to}`,
    zoomIn: 'Крупнее',
    zoomOut: 'Мельче',
    fit: 'Показать всё',
    controls: 'Вид',
    node: 'Enter выбирает элемент, стрелки двигают, Delete удаляет.',
    edge: 'Enter выбирает переход, Delete удаляет.',
    moved: (x: number, y: number) => `Перемещено в ${x}, ${y}`,
  },
});

/** Where a traced run has been: objects, and ways as `from>to`. */
export type Visits = {
  readonly objects: ReadonlySet<number>;
  readonly ways: ReadonlySet<string>;
  readonly here: number | undefined;
};

export type CanvasProps = {
  readonly objects: readonly ScriptObject[];
  readonly types: TypesById;
  readonly selected: number | undefined;
  readonly fault: { readonly oId: number; readonly text: string } | undefined;
  readonly visits: Visits | undefined;
  readonly mayWrite: boolean;
  readonly onSelect: (oId: number | undefined) => void;
  readonly onMove: (oId: number, place: Point) => void;
  readonly onConnect: (oId: number, path: string, to: number | undefined) => void;
  readonly onRemove: (oId: number) => void;
};

const NODE_TYPES = { element: ElementNode };
const FIT = { maxZoom: 1, padding: 0.15 };
const MIN_ZOOM = 0.15;
/** At first letters shall be readable, even if not everything is in sight. */
const FIRST_FIT = { ...FIT, minZoom: 0.5 };

export const Canvas = (props: CanvasProps) => (
  <ReactFlowProvider>
    <Flow {...props} />
  </ReactFlowProvider>
);

const visitOf = (visits: Visits | undefined, oId: number): Visit => {
  if (!visits?.objects.has(oId)) return 'none';
  return visits.here === oId ? 'here' : 'passed';
};

/** Keeps what React Flow measured of the nodes that stay. */
const useNodes = (props: CanvasProps) => {
  const { objects, types, selected, fault, visits, mayWrite } = props;
  const { language } = useLanguage();
  const [nodes, setNodes] = useState<FlowNode[]>([]);
  useEffect(() => {
    const places = placesOf(objects, types);
    setNodes((before) => {
      const known = new Map(before.map((node) => [node.id, node]));
      return objects.map((object): FlowNode => {
        const type = types.get(object.oType);
        const id = String(object.oId);
        return {
          ...known.get(id),
          id,
          type: 'element',
          position: places.get(object.oId)!,
          selected: object.oId === selected,
          ariaLabel: titleOf(object, type, language),
          data: {
            object,
            type,
            fault: fault?.oId === object.oId ? fault.text : undefined,
            visit: visitOf(visits, object.oId),
            mayWrite,
          },
        };
      });
    });
  }, [objects, types, selected, fault, visits, mayWrite, language]);
  return [nodes, setNodes] as const;
};

const useEdges = ({ objects, types, visits }: CanvasProps, chosen: string | undefined): Edge[] => {
  const t = useTexts();
  const { language } = useLanguage();
  return useMemo(() => {
    const byId = new Map(objects.map((object) => [object.oId, object]));
    const title = (object: ScriptObject): string => titleOf(object, types.get(object.oType), language);
    return objects.flatMap((object) =>
      transfersOf(object, types.get(object.oType)?.keys ?? {}).flatMap(({ path, to }): Edge[] => {
        const target = byId.get(to);
        if (!target) return [];
        const id = `${object.oId}:${path}`;
        return [
          {
            id,
            source: String(object.oId),
            sourceHandle: path,
            target: String(to),
            targetHandle: IN,
            selected: id === chosen,
            markerEnd: { type: MarkerType.ArrowClosed, width: 18, height: 18 },
            ariaLabel: t.leads(title(object), path, title(target)),
            ...(visits?.ways.has(`${object.oId}>${to}`) ? { className: 'passed' } : {}),
          },
        ];
      }),
    );
  }, [objects, types, visits, chosen, language, t]);
};

/** Brings an element into sight: the one a trace is at. */
const useFollow = ({ objects, types, visits }: CanvasProps): void => {
  const flow = useReactFlow();
  const here = visits?.here;
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a step of the trace moves the view.
  useEffect(() => {
    const object = objects.find(({ oId }) => oId === here);
    const place = object && placesOf(objects, types).get(object.oId);
    if (!object || !place) return;
    const middle = heightOf(object, types.get(object.oType)) / 2;
    void flow.setCenter(place.x + NODE_WIDTH / 2, place.y + middle, { zoom: flow.getZoom() });
  }, [here]);
};

const Flow = (props: CanvasProps) => {
  const { mayWrite, onSelect, onMove, onConnect, onRemove } = props;
  const t = useTexts();
  const [nodes, setNodes] = useNodes(props);
  const [chosen, setChosen] = useState<string>();
  const edges = useEdges(props, chosen);
  useFollow(props);
  const changeNodes = (changes: NodeChange<FlowNode>[]): void => {
    setNodes((before) => applyNodeChanges(changes, before));
    for (const change of changes) {
      if (change.type === 'select' && change.selected) onSelect(Number(change.id));
      if (change.type === 'remove') onRemove(Number(change.id));
      // Arrow keys and the end of a drag; what lies between is the drawing's own.
      if (change.type === 'position' && change.position && !change.dragging) onMove(Number(change.id), change.position);
    }
  };
  const changeEdges = (changes: EdgeChange[]): void => {
    for (const change of changes) {
      if (change.type === 'select') setChosen(change.selected ? change.id : undefined);
      const edge = change.type === 'remove' ? edges.find(({ id }) => id === change.id) : undefined;
      if (edge) onConnect(Number(edge.source), String(edge.sourceHandle), undefined);
    }
  };
  const connect = ({ source, sourceHandle, target }: Connection): void => {
    if (sourceHandle) onConnect(Number(source), sourceHandle, Number(target));
  };
  return (
    <section className="script-canvas" aria-label={t.graph}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        onNodesChange={changeNodes}
        onEdgesChange={changeEdges}
        onConnect={connect}
        onPaneClick={() => onSelect(undefined)}
        nodesDraggable={mayWrite}
        nodesConnectable={mayWrite}
        deleteKeyCode={mayWrite ? ['Delete', 'Backspace'] : null}
        multiSelectionKeyCode={null}
        selectionKeyCode={null}
        connectionRadius={30}
        minZoom={MIN_ZOOM}
        fitView
        fitViewOptions={FIRST_FIT}
        proOptions={{ hideAttribution: true }}
        ariaLabelConfig={{
          'node.a11yDescription.default': t.node,
          'node.a11yDescription.keyboardDisabled': t.node,
          'node.a11yDescription.ariaLiveMessage': ({ x, y }) => t.moved(x, y),
          'edge.a11yDescription.default': t.edge,
          'controls.ariaLabel': t.controls,
          'controls.zoomIn.ariaLabel': t.zoomIn,
          'controls.zoomOut.ariaLabel': t.zoomOut,
          'controls.fitView.ariaLabel': t.fit,
        }}
      >
        <Controls showInteractive={false} fitViewOptions={FIT} />
      </ReactFlow>
    </section>
  );
};
