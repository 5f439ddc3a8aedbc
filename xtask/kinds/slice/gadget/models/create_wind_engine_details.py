class CreateWindEngineDetails(CreateEngineDetails):

    def __init__(self, **kwargs):
        self.swagger_types = {
            'fuel': 'str',
            'name': 'str',
            'compartment_id': 'str',
            'blades': 'int',
        }
        self.attribute_map = {
            'fuel': 'fuel',
            'name': 'name',
            'compartment_id': 'compartmentId',
            'blades': 'blades',
        }

    @property
    def fuel(self):
        """
        Gets the fuel.
        """
        return self._fuel

    @property
    def name(self):
        """
        Gets the name.
        """
        return self._name

    @property
    def compartment_id(self):
        """
        Gets the compartment_id.
        """
        return self._compartment_id

    @property
    def blades(self):
        """
        Gets the blades.
        """
        return self._blades
