class GearPart(Part):

    def __init__(self, **kwargs):
        self.swagger_types = {
            'part_type': 'str',
            'teeth': 'int',
        }
        self.attribute_map = {
            'part_type': 'partType',
            'teeth': 'teeth',
        }

    @property
    def part_type(self):
        """
        Gets the part_type.
        """
        return self._part_type

    @property
    def teeth(self):
        """
        **[Required]** Gets the teeth.
        """
        return self._teeth
