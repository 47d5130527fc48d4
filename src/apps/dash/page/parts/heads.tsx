/** The header row of a table: a title for each column, and the column's classes where it has some. */
export function Heads({ columns }: { readonly columns: readonly (readonly [title: string, classes?: string])[] }) {
  return (
    <thead>
      <tr>
        {columns.map(([title, classes]) => (
          <th key={title} scope="col" class={classes}>
            {title}
          </th>
        ))}
      </tr>
    </thead>
  );
}
