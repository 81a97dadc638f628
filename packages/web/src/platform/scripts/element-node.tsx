/** An element in the drawing: what it is, where it leads, what is wrong with it, and where a traced run is. */
import { Handle, type Node, type NodeProps, Position } from '@xyflow/react';
import { useLanguage } from '../../shared/i18n.tsx';
import type { ElementType, ScriptObject } from './declared.ts';
import { transfersOf } from './graph.ts';
import { typeName, useScriptTexts } from './texts.ts';

export type Visit = 'none' | 'passed' | 'here';

export type ElementNodeData = {
  readonly object: ScriptObject;
  readonly type: ElementType | undefined;
  readonly fault: string | undefined;
  readonly visit: Visit;
  readonly mayWrite: boolean;
};

export type FlowNode = Node<ElementNodeData, 'element'>;

/** The handle that takes what leads here. */
export const IN = 'in';

export const ElementNode = ({ data, selected }: NodeProps<FlowNode>) => {
  const t = useScriptTexts();
  const { language } = useLanguage();
  const { object, type, fault, visit, mayWrite } = data;
  // Notes stand beside the flow; what leads on from one is rare.
  const transfers = transfersOf(object, type?.keys ?? {}).filter(({ to }) => !type?.is_note || to !== 0);
  const name = typeof object.name === 'string' ? object.name : '';
  const text = type?.is_note && typeof object.text === 'string' ? object.text : '';
  return (
    <div
      className={`element-node${selected ? ' chosen' : ''}${type?.is_note ? ' note' : ''}`}
      data-visit={visit}
      data-faulty={fault !== undefined}
    >
      <Handle type="target" id={IN} position={Position.Left} isConnectable={mayWrite} />
      <div className="element-head">
        <span className="small faint">
          {object.oId} · {typeName(type, object.oType, language)}
        </span>
        <strong>{name === '' ? typeName(type, object.oType, language) : name}</strong>
        {text === '' ? null : <span className="small">{text}</span>}
        {fault === undefined ? null : <span className="field-error">{fault}</span>}
      </div>
      {transfers.map(({ path, to }) => (
        <div className="element-transfer small" key={path}>
          <span className="mono">{path}</span>
          {to === 0 ? <span className="faint">{t.nowhere}</span> : null}
          <Handle type="source" id={path} position={Position.Right} isConnectable={mayWrite} />
        </div>
      ))}
    </div>
  );
};
