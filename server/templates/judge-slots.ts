// What the slots of a process template demand of the resources that a run uses: that a required slot holds one, and that
// it is made from the slot's template. A run may use more than its template names. `load` and commands both judge with
// this.
import type { DatasetSlot } from '../api/dataset-schema.js';
import type { ShapeFault } from '../api/shape-fault.js';

export interface Uses {
  /** What the slots of the run hold, by name. */
  readonly resources: Readonly<Record<string, string>>;
  /** The template of a resource by its id, null if it has none; undefined if that is not to be judged. */
  readonly templateOf: (id: string) => string | null | undefined;
}

/** Faults with places below the run. */
export function slotFaults(slots: readonly DatasetSlot[], { resources, templateOf }: Uses): readonly ShapeFault[] {
  return slots.flatMap(({ name, template, required }): readonly ShapeFault[] => {
    const place = ['resources', name];
    const id = Object.hasOwn(resources, name) ? resources[name] : undefined;
    if (id === undefined) return required === true ? [{ place, message: 'is required' }] : [];
    const made = templateOf(id);
    if (template === undefined || template === null || made === undefined || made === template) return [];
    return [{ place, message: 'must be a resource that is made from the template of this slot' }];
  });
}

/** The stored resources of a run, by slot. Nothing but commands and `load` writes them. */
export function isIds(value: unknown): value is Readonly<Record<string, string>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The slots of a stored template. Nothing but commands and `load` writes them. */
export function storedSlots(value: unknown): readonly DatasetSlot[] {
  return isSlots(value) ? value : [];
}

function isSlots(value: unknown): value is readonly DatasetSlot[] {
  return Array.isArray(value);
}
