/**
 * Tables. Sorting is the caller's (`sort`, `onSort`); only the rows in view are in the document, so that ten thousand scroll
 * smoothly. Wide tables scroll within their frame, which the keyboard reaches. Rows with `onOpen` open by click and by a
 * button in the first column.
 */
import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown, ArrowUp } from 'lucide-react';
import { type ReactNode, useRef } from 'react';

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
const ROW_HEIGHT_PX = 44;
const OVERSCAN_ROWS = 12;

export const Table = <Row,>(props: TableProps<Row>) => {
  const { label, columns, rows, empty } = props;
  const frame = useRef<HTMLElement>(null);
  const isWindowed = rows.length >= WINDOWED_FROM;
  const virtualizer = useVirtualizer({
    count: isWindowed ? rows.length : 0,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_HEIGHT_PX,
    overscan: OVERSCAN_ROWS,
  });
  const items = virtualizer.getVirtualItems();
  const shown = isWindowed ? items.map((item) => item.index) : [...rows.keys()];
  const before = isWindowed ? (items[0]?.start ?? 0) : 0;
  const after = isWindowed ? virtualizer.getTotalSize() - (items.at(-1)?.end ?? 0) : 0;
  return (
    <section
      ref={frame}
      className={`table-frame${isWindowed ? ' windowed' : ''}${props.stacks && !isWindowed ? ' stacks' : ''}`}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard (WCAG 2.1.1).
      tabIndex={0}
    >
      <table aria-rowcount={(props.rowCount ?? rows.length) + 1}>
        <Head {...props} />
        <tbody>
          {before > 0 ? <Gap height={before} columns={columns.length} /> : null}
          {shown.map((index) => (
            <Line
              key={props.keyOf(rows[index]!)}
              {...props}
              row={rows[index]!}
              index={index}
              measure={isWindowed ? virtualizer.measureElement : undefined}
            />
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

const Gap = ({ height, columns }: { height: number; columns: number }) => (
  <tr aria-hidden style={{ height }}>
    <td colSpan={columns} />
  </tr>
);

const Head = <Row,>(props: TableProps<Row>) => (
  <thead>
    <tr>
      {props.columns.map((column) => (
        <HeadCell key={column.key} {...props} column={column} />
      ))}
    </tr>
  </thead>
);

const HeadCell = <Row,>({ column, sort, onSort }: TableProps<Row> & { column: Column<Row> }) => {
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

type LineProps<Row> = TableProps<Row> & {
  readonly row: Row;
  readonly index: number;
  readonly measure: ((row: HTMLTableRowElement | null) => void) | undefined;
};

const Line = <Row,>({ columns, row, index, measure, onOpen }: LineProps<Row>) => (
  <tr
    ref={measure}
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
