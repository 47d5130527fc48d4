/** The heads of a table's columns: a title each, and the classes of its column where it has some. */
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
