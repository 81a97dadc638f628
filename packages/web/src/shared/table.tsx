/**
 * Tables. Sorting is the caller's (`sort`, `onSort`); only the rows in view are in the document, so that ten thousand scroll
 * smoothly. Wide tables scroll within their frame, which the keyboard reaches. Rows with `onOpen` open by click and by a
 * button in the first column.
 */
import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown, ArrowUp } from 'lucide-react';
import { type CSSProperties, memo, type ReactNode, type RefObject, useLayoutEffect, useRef, useState } from 'react';

export type Column<Row> = {
  readonly key: string;
  readonly label: string;
  readonly render: (row: Row) => ReactNode;
  /** Set when `onSort` knows this column. */
  readonly sortable?: boolean;
  /** Right-aligned, figures of equal width. */
  readonly number?: boolean;
  /** No visible heading (buttons); the label is for screen readers. */
  readonly bare?: boolean;
  /** Takes most of the room there is, because later rows may hold longer texts than the first. */
  readonly grows?: boolean;
};

export type Sort = { readonly key: string; readonly descending: boolean };

export type TableProps<Row> = {
  /** Names the table for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly sort?: Sort | undefined;
  readonly onSort?: (sort: Sort) => void;
  readonly onOpen?: (row: Row) => void;
  /** Shown instead of rows when there are none. */
  readonly empty?: ReactNode;
  /** On narrow screens each row becomes a block with its labels, instead of scrolling sideways. */
  readonly stacks?: boolean;
  /** All rows on the server, when not all are here. */
  readonly rowCount?: number;
};

/** Fewer rows than this are all rendered; the frame then grows with them. */
const WINDOWED_FROM = 200;
/** As the style sheet has it, so that no row must be measured while it scrolls by. */
const ROW_HEIGHT_PX = 44;
const OVERSCAN_ROWS = 8;

export const Table = <Row,>(props: TableProps<Row>) => {
  const { label, columns, rows, empty, sort, onSort, onOpen } = props;
  const frame = useRef<HTMLElement>(null);
  const { isWindowed, shown, before, after } = useWindow(frame, rows.length);
  const widths = useFirstWidths(frame, columns, isWindowed && shown.length > 0);
  return (
    <section
      ref={frame}
      className={`table-frame${isWindowed ? ' windowed' : ''}${props.stacks && !isWindowed ? ' stacks' : ''}`}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard (WCAG 2.1.1).
      tabIndex={0}
    >
      <table
        aria-rowcount={(props.rowCount ?? rows.length) + 1}
        className={widths ? 'fixed' : undefined}
        style={widths ? gridOf(widths, columns) : undefined}
      >
        <Head columns={columns} sort={sort} onSort={onSort} />
        <tbody>
          {before > 0 ? <Gap height={before} columns={columns.length} /> : null}
          {shown.map((index) => (
            <Line key={props.keyOf(rows[index]!)} columns={columns} row={rows[index]!} index={index} onOpen={onOpen} />
          ))}
          {after > 0 ? <Gap height={after} columns={columns.length} /> : null}
          {rows.length === 0 && empty ? (
            <tr>
              <td colSpan={columns.length} className="empty">
                {empty}
              </td>
            </tr>
          ) : null}
        </tbody>
      </table>
    </section>
  );
};

/** How many times the share of another column one gets that grows. */
const GROWTH = 20;

/** Columns as a grid, which share what room there is more. */
const gridOf = (widths: readonly number[], columns: readonly { readonly grows?: boolean }[]): CSSProperties => ({
  ['--columns' as 'width']: widths
    .map((width, at) => `minmax(${width}px, ${width * (columns[at]?.grows ? GROWTH : 1)}fr)`)
    .join(' '),
  minWidth: widths.reduce((sum, width) => sum + width, 0),
});

type RowWindow = {
  readonly isWindowed: boolean;
  /** Indexes of the rows in the document. */
  readonly shown: readonly number[];
  /** Heights of the rows that are not, px. */
  readonly before: number;
  readonly after: number;
};

/** All of few rows; of many those in view. */
const useWindow = (frame: RefObject<HTMLElement | null>, count: number): RowWindow => {
  const isWindowed = count >= WINDOWED_FROM;
  const virtualizer = useVirtualizer({
    count: isWindowed ? count : 0,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_HEIGHT_PX,
    overscan: OVERSCAN_ROWS,
  });
  const items = virtualizer.getVirtualItems();
  if (!isWindowed) return { isWindowed, shown: [...Array(count).keys()], before: 0, after: 0 };
  const [first, last] = [items[0], items.at(-1)];
  return {
    isWindowed,
    shown: items.map(({ index }) => index),
    before: first?.start ?? 0,
    after: virtualizer.getTotalSize() - (last?.end ?? 0),
  };
};

type AnyColumns = readonly { readonly key: string; readonly label: string }[];

/**
 * Widths of the columns as the first rows made them, px; undefined until there are any. With them each row is laid out by
 * itself; without, every row that scrolls in has the browser work out the whole table anew, and columns jump.
 */
const useFirstWidths = (
  frame: RefObject<HTMLElement | null>,
  columns: AnyColumns,
  isOn: boolean,
): readonly number[] | undefined => {
  const name = columns.map(({ key, label }) => `${key} ${label}`).join('\n');
  const [measured, setMeasured] = useState<{ name: string; widths: readonly number[] }>();
  const isKnown = measured?.name === name;
  useLayoutEffect(() => {
    if (!isOn || isKnown) return;
    const heads = [...(frame.current?.querySelectorAll('th') ?? [])];
    setMeasured({ name, widths: heads.map((head) => head.getBoundingClientRect().width) });
  }, [frame, name, isOn, isKnown]);
  return isOn && isKnown ? measured.widths : undefined;
};

const Gap = ({ height, columns }: { height: number; columns: number }) => (
  <tr aria-hidden style={{ height }}>
    <td colSpan={columns} />
  </tr>
);

type HeadProps<Row> = {
  readonly columns: readonly Column<Row>[];
  readonly sort: Sort | undefined;
  readonly onSort: ((sort: Sort) => void) | undefined;
};

const HeadOnce = <Row,>({ columns, sort, onSort }: HeadProps<Row>) => (
  <thead>
    <tr>
      {columns.map((column) => (
        <HeadCell key={column.key} column={column} sort={sort} onSort={onSort} />
      ))}
    </tr>
  </thead>
);
const Head = memo(HeadOnce) as typeof HeadOnce;

const HeadCell = <Row,>({ column, sort, onSort }: Omit<HeadProps<Row>, 'columns'> & { column: Column<Row> }) => {
  const isSorted = sort?.key === column.key;
  const isDescending = isSorted && sort.descending;
  const Arrow = isDescending ? ArrowDown : ArrowUp;
  const direction = isDescending ? 'descending' : 'ascending';
  return (
    <th scope="col" aria-sort={isSorted ? direction : undefined} className={column.number ? 'number' : undefined}>
      {column.sortable && onSort ? (
        <button
          type="button"
          className="sort"
          onClick={() => onSort({ key: column.key, descending: isSorted && !isDescending })}
        >
          {column.label}
          {isSorted ? <Arrow aria-hidden /> : null}
        </button>
      ) : (
        <span className={column.bare ? 'unseen' : undefined}>{column.label}</span>
      )}
    </th>
  );
};

type LineProps<Row> = {
  readonly columns: readonly Column<Row>[];
  readonly row: Row;
  readonly index: number;
  readonly onOpen: ((row: Row) => void) | undefined;
};

const LineOnce = <Row,>({ columns, row, index, onOpen }: LineProps<Row>) => (
  <tr
    data-index={index}
    aria-rowindex={index + 2}
    className={onOpen ? 'opens' : undefined}
    onClick={(event) => {
      const isControl = (event.target as HTMLElement).closest('button, a, input, select, label') !== null;
      if (!isControl) onOpen?.(row);
    }}
  >
    {columns.map((column, at) => (
      <td
        key={column.key}
        className={column.number ? 'number' : undefined}
        data-label={column.bare ? undefined : column.label}
      >
        {at === 0 && onOpen ? (
          <button type="button" className="link" onClick={() => onOpen(row)}>
            {column.render(row)}
          </button>
        ) : (
          column.render(row)
        )}
      </td>
    ))}
  </tr>
);
/** Rendered when it comes into view, and not again while others do. */
const Line = memo(LineOnce) as typeof LineOnce;
