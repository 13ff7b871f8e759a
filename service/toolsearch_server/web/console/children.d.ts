/** What may stand in an element: false and null stand for nothing, lists may be nested. */

export type Child = Node | string | number | null | undefined | false;
export type Children = Child | readonly Children[];
